"""The engine child's view of itself."""

from __future__ import annotations

import mmap
import os

import pytest

from streamworthy.bench.residency import residency
from streamworthy.engine.selfview import (
    drop_areas,
    lock_region,
    parse_maps,
    parse_random,
    parse_status,
    random_bytes,
    shard_areas,
)
from streamworthy.errors import EngineError, ParseError
from streamworthy.probes.sysroot import Sysroot
from tests.selftest.bench.disk_file import SIZE, make_disk_file

_MAPS = """\
5600a0000000-5600a0001000 r--p 00000000 fe:00 7        /usr/bin/python3
7f0000000000-7f0000400000 r--s 00000000 fe:00 12345    /big/model-00001-of-00002.gguf
7f0000400000-7f0000500000 r--s 00400000 fe:00 12345    /big/model-00001-of-00002.gguf
7f0000600000-7f0000700000 r--s 00000000 fe:00 12345    /big/another name
7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0        [stack]
7f0000700000-7f0000800000 rw-p 00000000 00:00 0
"""
_STATUS = "Name:\tpython\nVmLck:\t       8 kB\nRssAnon:\t    1024 kB\nRssFile:\t    2048 kB\n"


def test_areas_over_the_shards_are_found():
    """Inode and file name decide; sizes are those of the areas, not of what is resident."""
    assert parse_maps(_MAPS, {12345}, {"model-00001-of-00002.gguf"}) == [
        (0x7F0000000000, 0x400000),
        (0x7F0000400000, 0x100000),
    ]


_SMAPS = """\
7f0000000000-7f0000400000 r--s 00000000 fe:00 12345    /big/model-00001-of-00002.gguf
Size:               4096 kB
VmFlags: rd mr me ms rr
7f0000400000-7f0000500000 r--s 00400000 fe:00 12345    /big/model-00001-of-00002.gguf
VmFlags: rd mr me ms
7f0000600000-7f0000700000 r--s 00000000 fe:00 12346    /big/another name
VmFlags: rd mr me ms rr
"""


@pytest.mark.parametrize(
    ("text", "marked"),
    [(_SMAPS, 2**22), (_SMAPS.replace(" rr", ""), 0), (_SMAPS.replace("VmFlags", "Flags"), None), ("", None)],
)
def test_areas_for_random_access_are_added_up(text, marked):
    """Of the shards only; kernels before 3.8 tell no flags."""
    assert parse_random(text, {12345}, {"model-00001-of-00002.gguf"}) == marked


def test_advice_is_seen_in_the_own_maps(tmp_path):
    """Half of a mapped file is marked by madvise(2)."""
    path = make_disk_file(tmp_path)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as area:
        before = random_bytes(Sysroot(), [path])
        if before is None:
            pytest.skip("this kernel has no smaps")
        area.madvise(mmap.MADV_RANDOM, 0, SIZE // 2)

        assert (before, random_bytes(Sysroot(), [path])) == (0, SIZE // 2)


def test_status_is_read_in_bytes():
    """Three lines, in KiB in the file."""
    assert parse_status(_STATUS) == {"VmLck": 8192, "RssAnon": 2**20, "RssFile": 2**21}


@pytest.mark.parametrize("name", ["RssAnon", "RssFile", "VmLck"])
def test_a_missing_line_is_an_error(name):
    """Kernels before 4.5 do not split Rss."""
    with pytest.raises(ParseError, match=name):
        parse_status(_STATUS.replace(name, "Other"))


def test_dropped_maps_let_go_of_their_pages(tmp_path):
    """A mapped and touched file can be evicted after its areas were dropped, while it stays mapped."""
    path = make_disk_file(tmp_path)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as area:
        touched = sum(area[::4096])
        areas = shard_areas(Sysroot(), [path])
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        before = residency([path]).share
        drop_areas(areas)
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        after = residency([path]).share
        again = sum(area[::4096])

    assert [size for _, size in areas] == [SIZE]
    assert (before, after) == (1.0, 0.0)
    assert touched == again


def test_an_area_that_does_not_exist_cannot_be_dropped():
    """The kernel's reason is passed on."""
    with pytest.raises(EngineError, match="maps of the shards cannot be dropped"):
        drop_areas([(1, 4096)])


def test_a_locked_region_is_seen_in_the_status():
    """VmLck grows by the region."""
    root = Sysroot()
    before = parse_status(root.read_text("proc/self/status"))["VmLck"]
    try:
        region = lock_region(16384)
    except EngineError as error:
        pytest.skip(error.message)

    assert parse_status(root.read_text("proc/self/status"))["VmLck"] == before + 16384
    assert len(region) == 16384
