"""Memory of a machine and what control groups leave of it."""

from __future__ import annotations

import pytest

from streamworthy.errors import ProbeError
from streamworthy.facts.memory import HeldMemory, MemoryFacts
from streamworthy.probes.memory import probe_memory
from tests.selftest.probes.folder import captured, changed

GIB = 2**30
KIB = 2**10


def test_the_whole_record_of_a_captured_machine():
    """Sizes of a captured WSL guest, without a limit."""
    found = probe_memory(captured("wsl2-drvfs"))
    assert found == MemoryFacts(
        total_bytes=24587340 * KIB,
        free_bytes=21204868 * KIB,
        page_cache_bytes=2214320 * KIB,
        available_bytes=23311240 * KIB,
        groups=found.groups,
        groups_unknown="",
        wsl=True,
        held=HeldMemory(
            programs_bytes=found.held.programs_bytes,
            huge_pages_bytes=0,
            shared_bytes=found.held.shared_bytes,
            balloon_bytes=None,
            zfs_cache_bytes=None,
            zfs_cache_least_bytes=None,
        ),
        bound=None,
    )
    assert [(group.path, group.limit_bytes) for group in found.groups] == [("/init.scope", None), ("/", None)]


def test_a_pod_is_limited_by_its_parent():
    """The container says max, its pod 12 GiB, the node's pods together 62 GiB: 12 GiB count."""
    found = probe_memory(captured("container-memory-limit"))
    assert found.limiting_group.limit_bytes == 12 * GIB
    assert found.limiting_group.path.endswith("pod6d0f4b1c_2f0e_4f2b_9c55_0a3b7de1c9aa.slice")
    # 12 GiB limit - (11 GiB usage - 5 GiB inactive - 3.9375 GiB active)
    assert found.working_available_bytes == 9.9375 * GIB


def test_a_group_that_cannot_be_seen_leaves_the_machines_own_sizes(tmp_path):
    """What meminfo tells is known even when the limit is not."""
    found = probe_memory(changed(tmp_path, "laptop-nvme", {"proc/self/cgroup": "0::/../x\n"}))
    assert (found.total_bytes, found.groups) == (32548200 * KIB, ())
    assert "cannot be seen" in found.groups_unknown


def test_a_missing_meminfo_is_a_probe_error(tmp_path):
    """Without the file nothing is known."""
    with pytest.raises(ProbeError, match="/proc/meminfo: cannot be read"):
        probe_memory(changed(tmp_path, "laptop-nvme", {"proc/meminfo": None}))
