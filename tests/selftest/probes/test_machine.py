"""One machine with all its facts, probed when they are asked for."""

from __future__ import annotations

import sys

import pytest

from streamworthy.errors import ProbeError
from streamworthy.facts.plan import EnginePlan
from streamworthy.probes.machine import Machine
from streamworthy.probes.sysroot import Sysroot
from tests.selftest.probes.folder import MACHINES, captured, changed

HOST_FACTS = (
    "cpu", "memory", "swap", "memlock", "kernel", "host", "volumes", "governor", "pressure", "temperatures",
    "mapping", "address_space", "links", "health", "allocation", "read_limits",
)  # fmt: skip
PLAN = {
    "context_tokens": 512,
    "prompt_tokens": 64,
    "decode_tokens": 16,
    "threads": None,
    "batch_tokens": 64,
    "ubatch_tokens": 64,
    "mmap": True,
    "repack": False,
    "kv_type": "f16",
    "swa_full": False,
    "parallel_slots": 1,
    "prompt_cache_bytes": 0,
    "numa": "disabled",
}


def plan(lock_bytes):
    """Make a plan that locks so much."""
    return EnginePlan(**PLAN, lock_bytes=lock_bytes)


def test_every_captured_machine_tells_every_host_fact():
    """All shipped machines answer all questions about the host, and say where they come from."""
    names = sorted(path.name for path in MACHINES.iterdir())
    assert len(names) >= 25
    for name in names:
        machine = Machine(captured(name), plan=plan(0))
        source = machine.root.answers["source"]
        assert source["name"] == name
        assert source["kind"] in ("captured", "reconstructed")
        assert len(source["from"]) > 20
        facts = [getattr(machine, fact) for fact in HOST_FACTS]
        assert all(facts)
        assert machine.memory.groups_unknown == machine.cpu.cores_unknown == ""


def test_a_fact_is_probed_once(tmp_path):
    """Later changes do not show within one run."""
    root = changed(tmp_path, "laptop-nvme", {})
    machine = Machine(root)
    before = machine.memory
    root.path("proc/meminfo").write_text("")
    assert machine.memory is before


@pytest.mark.parametrize(("lock_bytes", "need"), [(0, 0), (64 * 2**20, 64 * 2**20), (-1, 220)])
def test_the_plan_says_what_is_locked(lock_bytes, need):
    """-1 asks the headers for the size of all weights."""
    machine = Machine(captured("laptop-nvme"), plan=plan(lock_bytes), lock_need_bytes=lambda: 220)
    assert machine.memlock.need_bytes == need


@pytest.mark.parametrize(("given", "message"), [(None, "no tier is chosen"), (plan(-1), "whose size no model tells")])
def test_an_unknown_need_is_a_probe_error(given, message):
    """What is not known is not taken for nothing."""
    with pytest.raises(ProbeError, match=message):
        _ = Machine(captured("laptop-nvme"), plan=given).memlock


def test_a_broken_header_leaves_the_need_unknown():
    """The header reader's error reaches the gate."""

    def broken():
        raise ProbeError("shard 1: bad magic")

    with pytest.raises(ProbeError, match="bad magic"):
        _ = Machine(captured("laptop-nvme"), plan=plan(-1), lock_need_bytes=broken).memlock


def test_swap_knows_the_models_disks():
    """They come from the volumes of the model."""
    assert Machine(captured("laptop-luks-lvm")).swap.model_disks == ("259:0",)


def test_swap_is_known_without_a_model():
    """Only the comparison with the model's disk is left out."""
    machine = Machine(Sysroot())
    if sys.platform != "linux":
        pytest.skip("asks this kernel; only Linux has /proc/swaps")
    assert machine.swap.model_disks is None


def test_volumes_without_a_model_are_a_probe_error():
    """There is nothing to look for."""
    with pytest.raises(ProbeError):
        _ = Machine(Sysroot()).volumes


def test_a_shard_that_is_gone_is_a_probe_error(tmp_path):
    """A name without a file has no volume."""
    with pytest.raises(ProbeError):
        _ = Machine(Sysroot(), model_paths=(tmp_path / "gone.gguf",)).volumes


@pytest.mark.skipif(sys.platform != "linux", reason="asks this kernel; only Linux has /proc")
def test_this_machine_answers(tmp_path):
    """Live files of this kernel give all facts, whatever they are."""
    shard = tmp_path / "m-00001-of-00001.gguf"
    shard.write_bytes(b"GGUF")
    machine = Machine(Sysroot(), model_paths=(shard,), plan=plan(1), set_total_bytes=lambda: 4)
    assert machine.memory.total_bytes > 0
    assert machine.cpu.allowed_count >= 1
    assert machine.memlock.need_bytes == 1
    assert machine.host.name
    assert [volume.shards for volume in machine.volumes.volumes] == [(str(shard),)]
