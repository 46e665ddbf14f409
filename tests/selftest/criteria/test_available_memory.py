"""Who holds the memory that is missing: each holder has a cause and a remedy of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.criteria import memory
from streamworthy.facts.memory import BoundMemory, HeldMemory
from streamworthy.verdict import Word
from tests.selftest.criteria.asked import limit
from tests.selftest.facts.test_memory import GIB, MEMORY

HELD = HeldMemory(
    programs_bytes=6 * GIB,
    huge_pages_bytes=0,
    shared_bytes=GIB,
    balloon_bytes=None,
    zfs_cache_bytes=None,
    zfs_cache_least_bytes=None,
)
BOUND = BoundMemory(nodes=(0,), machine_nodes_count=2, by_policy=False, total_bytes=50 * GIB, available_bytes=20 * GIB)
FREE = replace(MEMORY, groups=(), available_bytes=20 * GIB, held=HELD)
ASKED = limit(at_least=48 * GIB)


@pytest.mark.parametrize(
    ("change", "cause", "fix"),
    [
        ({}, "other programs hold the memory", "ps -eo rss"),
        ({"programs_bytes": None, "shared_bytes": None}, "other programs hold the memory", "ps -eo rss"),
        ({"huge_pages_bytes": 40 * GIB}, "huge pages hold 40.0 GiB, used or not", "vm.nr_hugepages=0"),
        ({"shared_bytes": 40 * GIB}, "files in memory (tmpfs, /dev/shm) and shared memory hold 40.0 GiB", "tmpfs"),
        ({"balloon_bytes": 40 * GIB}, "the hypervisor has taken 40.0 GiB back", "virsh setmem"),
        (
            {"zfs_cache_bytes": 21 * GIB, "zfs_cache_least_bytes": 20 * GIB},
            "ZFS keeps 20.0 GiB for its cache at least",
            "zfs_arc_max",
        ),
    ],
)
def test_the_largest_holder_is_the_cause(change, cause, fix):
    """Ending programs gives back no huge page, no file in tmpfs and nothing from a balloon."""
    found = memory.available(replace(FREE, held=replace(HELD, **change)), ASKED)
    assert found.word is Word.FAIL
    assert found.cause.startswith(cause)
    assert fix in "\n".join(found.fix)
    assert ("ps -eo rss" in "\n".join(found.fix)) is (fix == "ps -eo rss")


@pytest.mark.parametrize(
    ("available", "word"), [(28 * GIB - 1, Word.FAIL), (28 * GIB, Word.ADVICE), (48 * GIB, Word.PASS)]
)
def test_zfs_s_cache_is_available_with_advice(available, word):
    """A model that was read through ZFS fills its cache; the machine has as much left as before."""
    held = replace(HELD, zfs_cache_bytes=22 * GIB, zfs_cache_least_bytes=2 * GIB)
    found = memory.available(replace(FREE, available_bytes=available, held=held), ASKED)
    assert found.word is word
    if word is Word.ADVICE:
        assert found.cause == "20.0 GiB of it are in ZFS's cache (ARC), which gives back slowly"
        assert found.fix[0] == f"echo {2 * GIB} | sudo tee /sys/module/zfs/parameters/zfs_arc_max  # now"
        assert "zfs_cache=22.0 GiB" in found.evidence


@pytest.mark.parametrize(
    ("available", "word"), [(48 * GIB - 1, Word.FAIL), (48 * GIB, Word.PASS), (48 * GIB + 1, Word.PASS)]
)
def test_memory_of_the_nodes_that_a_cpuset_leaves_is_judged_at_the_limit(available, word):
    """What the other nodes have is not for this process."""
    bound = replace(BOUND, available_bytes=available)
    found = memory.available(replace(FREE, total_bytes=100 * GIB, available_bytes=90 * GIB, bound=bound), ASKED)
    assert found.word is word
    if word is Word.FAIL:
        assert found.cause == "a cpuset leaves this process memory node 0 of 2, with 50.0 GiB in all"
        assert any("--cpuset-mems" in line for line in found.fix)


@pytest.mark.parametrize(
    ("balloon", "cause"),
    [
        (16 * GIB, "the hypervisor has taken 16.0 GiB back"),
        (GIB, "this machine has less memory"),
        (None, "this machine"),
    ],
)
def test_memory_that_a_balloon_took_is_missing_from_the_total(balloon, cause):
    """Without deflate-on-oom the driver takes it out of MemTotal; a balloon that is too small is not the cause."""
    facts = replace(FREE, total_bytes=30 * GIB, held=replace(HELD, balloon_bytes=balloon))
    found = memory.total(facts, limit(at_least=40 * GIB))
    assert (found.word, found.cause.startswith(cause)) == (Word.FAIL, True)


def test_windows_is_asked_for_as_much_as_the_tier_needs():
    """A guest sees a little less than it is given; a fixed number would be too little, or more than there is."""
    guest = replace(FREE, wsl=True, total_bytes=30 * GIB)
    assert "memory=59GB" in memory.total(guest, limit(at_least=56 * GIB)).fix
    assert "memory=50GB" in memory.available(guest, ASKED).fix


def test_a_policy_is_lifted_where_the_suite_is_started():
    """numactl binds what it starts, and no group of the system has a say."""
    facts = replace(FREE, total_bytes=100 * GIB, available_bytes=90 * GIB, bound=replace(BOUND, by_policy=True))
    found = memory.available(facts, ASKED)
    assert found.cause == "this process is bound to memory node 0 of 2, with 50.0 GiB in all"
    assert "--membind" in found.fix[1]
