"""Facts about memory and swap."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.facts.memory import CgroupMemory, MemoryFacts, SwapDevice, SwapFacts

GIB = 2**30
GROUP = CgroupMemory(
    path="/a",
    version=2,
    limit_bytes=32 * GIB,
    high_bytes=None,
    usage_bytes=28 * GIB,
    inactive_file_bytes=20 * GIB,
    active_file_bytes=7 * GIB,
)
MEMORY = MemoryFacts(
    total_bytes=64 * GIB,
    free_bytes=2 * GIB,
    page_cache_bytes=50 * GIB,
    available_bytes=55 * GIB,
    groups=(GROUP,),
    groups_unknown="",
    wsl=False,
    held=None,
    bound=None,
)
SWAP = SwapDevice(
    path="/dev/sda2",
    kind="partition",
    size_bytes=8,
    used_bytes=3,
    priority=-2,
    leaves=(),
    leaves_unknown="",
    network=None,
)


def test_page_cache_of_a_group_is_free_memory():
    """A group filled by reading 27 GiB of shards has as much left as before."""
    assert GROUP.free_bytes == 31 * GIB


@pytest.mark.parametrize(
    ("change", "left"),
    [
        ({"limit_bytes": None}, None),
        ({"usage_bytes": None}, None),
        ({"inactive_file_bytes": None}, None),
        ({"active_file_bytes": None}, 24 * GIB),
        ({"usage_bytes": 60 * GIB}, 0),
        ({"usage_bytes": GIB}, 32 * GIB),
    ],
)
def test_what_a_group_has_left_is_never_invented(change, left):
    """Unknown stays unknown, and counters that do not add up give neither a negative number nor more than the limit."""
    assert replace(GROUP, **change).free_bytes == left


@pytest.mark.parametrize(
    ("change", "available"),
    [
        ({}, 31 * GIB),
        ({"groups": ()}, 55 * GIB),
        ({"groups": (replace(GROUP, limit_bytes=None),)}, 55 * GIB),
        ({"groups": (GROUP, replace(GROUP, limit_bytes=8 * GIB, usage_bytes=28 * GIB))}, 7 * GIB),
        ({"available_bytes": 4 * GIB}, 4 * GIB),
        ({"available_bytes": None}, None),
        ({"groups": (GROUP, replace(GROUP, usage_bytes=None))}, None),
    ],
)
def test_available_memory_is_the_least_of_system_and_groups(change, available):
    """Each level's limit is set against the usage of the same level."""
    assert replace(MEMORY, **change).working_available_bytes == available


def test_the_smallest_limit_is_named():
    """Limit and throttling limit are looked for apart, at every level."""
    high = replace(GROUP, path="/b", limit_bytes=None, high_bytes=GIB)
    small = replace(GROUP, path="/c", limit_bytes=2 * GIB)
    memory = replace(MEMORY, groups=(GROUP, high, small))
    assert (memory.limiting_group, memory.throttling_group) == (small, high)
    free = replace(MEMORY, groups=(replace(GROUP, limit_bytes=None),))
    assert (free.limiting_group, free.throttling_group) == (None, None)


def test_zram_is_swap_but_no_cushion():
    """Its pages stay in memory."""
    devices = (SWAP, replace(SWAP, kind="zram", size_bytes=16, used_bytes=1))
    swap = SwapFacts(devices=devices, swappiness=60, model_disks=None, wsl=False)
    assert (swap.size_bytes, swap.cushion_bytes, swap.used_bytes) == (24, 8, 4)
