"""What answers instead of the disk."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from streamworthy.bench.direct_reads import Piece
from streamworthy.bench.doubts import (
    REREAD_RATIO,
    buffered_doubt,
    cached_share,
    rate_doubts,
    reread_doubt,
    storage_doubts,
)
from streamworthy.bench.evict import evict
from tests.selftest.bench.disk_file import SIZE, make_disk_file
from tests.selftest.criteria.disk_reads import GB, RATE
from tests.selftest.criteria.volumes import MOUNT, VOLUME, facts


@pytest.mark.parametrize(
    ("changes", "fstype", "said"),
    [
        ({"leaves": ()}, "tmpfs", "/data is tmpfs: its files are in memory"),
        ({"leaves": ()}, "ramfs", "/data is ramfs"),
        ({}, "zfs", "/data is zfs, which answers from a cache of its own"),
        ({"encoded_shards": ("/data/glm/a.gguf",)}, "btrfs", "/data (btrfs) stores the shards compressed"),
        ({}, "squashfs", "(squashfs) stores the shards compressed"),
        ({"allocated_bytes": 494}, "ext4", "the holes are zeros that no disk gives"),
        ({"leaves": ()}, "nfs4", "/data (nfs4): no disk is found below it"),
    ],
)
def test_volumes_that_are_no_disk_are_named(changes, fstype, said):
    """Memory, caches, compression, holes and networks: reading them is not reading a disk."""
    volume = replace(VOLUME, mount=replace(MOUNT, fstype=fstype), **changes)
    (doubt,) = storage_doubts(facts(volume))
    assert said in doubt


@pytest.mark.parametrize(
    "volume", [VOLUME, replace(VOLUME, allocated_bytes=495), replace(VOLUME, shards=(), leaves=())]
)
def test_a_disk_is_not_doubted(volume):
    """Whole files on a disk, a few blocks less than the size, and a volume for shards that are not there yet."""
    assert storage_doubts(facts(volume)) == ()


@pytest.mark.parametrize(("ratio", "doubted"), [(None, False), (1.0, False), (REREAD_RATIO, False), (1.41, True)])
def test_reading_again_and_faster_is_a_cache(ratio, doubted):
    """Up to two fifths more is noise."""
    assert bool(reread_doubt(ratio)) is doubted


@pytest.mark.parametrize(
    ("changes", "link", "said"),
    [
        ({}, None, ()),
        ({}, 3.0e9, ()),
        ({}, 2.9e9, ("3.0 GB/s is more than the PCIe link of the devices carries (2.9 GB/s)",)),
        ({"own_bytes": 8 * GB}, None, ("answered from memory: 88.9 % of the bytes were read by this process",)),
        ({"device_bytes": 8 * GB}, None, ("answered from memory: 88.9 % of the bytes were read by the devices below",)),
        ({"own_bytes": None, "device_bytes": None}, None, ()),
        ({"own_bytes": int(8.1 * GB)}, None, ()),
    ],
)
def test_direct_reads_come_from_devices_and_through_their_link(changes, link, said):
    """Bytes that no device read, and rates that no link carries, are somebody else's."""
    found = rate_doubts([replace(RATE, **changes)], link)
    assert len(found) == len(said)
    assert all(text in doubt for text, doubt in zip(said, found, strict=True))


@pytest.mark.parametrize(("after", "doubted"), [(0.5, False), (0.6, False), (0.61, True), (0.0, False)])
def test_bytes_that_stay_in_the_cache_were_not_read_directly(after, doubted):
    """A tenth of what was read is room for others."""
    assert bool(buffered_doubt(0.5, after)) is doubted


def test_the_cached_share_is_of_the_stretch(tmp_path):
    """Of half a file that was read alone all is resident, of the whole file half."""
    path = make_disk_file(tmp_path)
    evict([path])
    with path.open("rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        file.read(SIZE // 2)
    halves = [Piece(path=path, offset_bytes=place, size_bytes=SIZE // 2) for place in (0, SIZE // 2)]
    assert cached_share(halves[:1]) == 1.0
    assert cached_share(halves) == pytest.approx(0.5, abs=0.1)
