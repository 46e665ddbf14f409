"""Raising a control group's limit, by who made the group."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.criteria import memory
from streamworthy.criteria.group_limits import raise_limit
from tests.selftest.criteria.asked import limit
from tests.selftest.facts.test_memory import GIB, GROUP, MEMORY

MADE = {
    "/kubepods.slice/kubepods-pod6d0f.slice": "pod: raise resources.limits.memory of the container to 20480M",
    "/kubepods/burstable/pod6d0f/0f3c": "pod: raise",
    "/slurm/uid_1000/job_42/step_0": "batch job: sbatch --mem=20480M, or --mem=0",
    "/system.slice/slurmstepd.scope/job_42/step_0/user/task_0": "batch job: sbatch --mem=20480M",
    "/system.slice/docker-0f3c.scope": "container: docker update --memory=20480M",
    "/docker/0f3c": "container: docker update --memory=20480M",
    "/machine.slice/libpod-0f3c.scope": "container: podman update --memory=20480M",
    "/lxc/101/ns": "Proxmox: pct set ID --memory 20480",
    "/lxc.payload.models": "Proxmox: pct set ID --memory 20480",
    "/user.slice/user-1000.slice": "sudo systemctl set-property user-1000.slice MemoryMax=infinity",
    "/user.slice/user-1000.slice/user@1000.service/app.slice/run-1.scope": (
        "systemctl --user set-property run-1.scope MemoryMax=infinity"
    ),
    "/system.slice/llama.service": "sudo systemctl set-property llama.service MemoryMax=infinity",
    "/": "container: docker run --memory=..., or resources.limits.memory of the pod",
}


@pytest.mark.parametrize("path", MADE)
def test_each_maker_of_groups_has_its_own_way(path):
    """systemctl does not raise a pod's limit, nor docker a batch job's."""
    assert raise_limit(replace(GROUP, path=path), 20 * GIB)[0].startswith(MADE[path])


@pytest.mark.parametrize("gate", [memory.limit, memory.available])
def test_the_gates_name_the_group_that_limits(gate):
    """The tightest of several."""
    tight = replace(GROUP, path="/slurm/uid_1000/job_42", limit_bytes=16 * GIB)
    found = gate(replace(MEMORY, groups=(GROUP, tight)), limit(at_least=48 * GIB))
    assert found.fix == ("batch job: sbatch --mem=49152M, or --mem=0 for all memory of the node",)


def test_throttling_is_lifted_where_it_is_set():
    """memory.high has a property of its own."""
    facts = replace(MEMORY, groups=(replace(GROUP, limit_bytes=None, high_bytes=GIB, path="/user.slice"),))
    assert memory.limit(facts, limit(at_least=2 * GIB)).fix == (
        "sudo systemctl set-property user.slice MemoryHigh=infinity",
    )
