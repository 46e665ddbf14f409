"""Disks that the kernel does not name, and what names them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.criteria import storage
from streamworthy.verdict import Word
from tests.selftest.criteria.asked import limit
from tests.selftest.criteria.volumes import VOLUME, facts, latency, leaf, on

ROTATIONAL = limit("storage.rotational", random_read_at_most=0.002)
TRANSPORT = limit("storage.transport", accept=("nvme", "virtual"), random_read_at_most=0.002)


def test_disks_of_a_zfs_pool_are_asked_of_zfs():
    """The kernel does not name them, and running elsewhere would not change that."""
    volume = replace(on("zfs", source="tank/models"), leaves=(), leaves_unknown="/data: zfs names no block device")
    for found in (
        storage.rotational(facts(volume), latency(reason="ZFS answers from its own cache"), ROTATIONAL),
        storage.transport(facts(volume), latency(), TRANSPORT),
    ):
        assert (found.word, found.fix[0]) == (Word.ERROR, "zpool status -LP tank  # names the disks of the pool")
        assert any("waive" in line for line in found.fix)


@pytest.mark.parametrize(
    ("name", "cause", "fix"),
    [
        ("zd0", "zd0 is a ZFS volume", "zpool status"),
        ("dm-3", "dm-3 is mapped to no device", "dmsetup table /dev/dm-3"),
        ("md127", "md127 is an array without members", "/proc/mdstat"),
        ("odd0", "cannot be read off its device path", "report this path"),
    ],
)
def test_a_device_without_a_disk_says_what_it_is_and_what_shows_more(name, cause, fix):
    """A mapping to nothing, an empty array and a ZFS volume are no riddle about a device path."""
    volume = replace(VOLUME, leaves=(leaf("unknown", evidence=False, name=name),))
    found = storage.transport(facts(volume), latency(), TRANSPORT)
    assert found.word is Word.ERROR
    assert cause in found.cause
    assert fix in found.fix[0]
