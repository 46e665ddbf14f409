"""Ranges of a file, asked in three ways."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from streamworthy.bench.evict import evict
from streamworthy.bench.page_cache import METHODS, PAGE_BYTES, Span, ask_ranges, open_shard
from streamworthy.errors import ProbeError
from streamworthy.facts.cache import RangeResidency
from tests.selftest.bench.disk_file import SIZE, make_disk_file

EXACT = METHODS[:2]


def ask(path, *ranges, only):
    """Ask one interface for ranges (offset, size); give their resident bytes."""
    spans = [Span(offset_bytes=offset, size_bytes=size, probes_count=64) for offset, size in ranges]
    with open_shard(path) as descriptor:
        method, found = ask_ranges(descriptor, path, spans, without=set(METHODS) - {only})
    assert method == only
    return [part.resident_bytes for part in found]


def bring(path, offset, size):
    """Read a range and nothing beside it into the page cache."""
    descriptor = os.open(path, os.O_RDONLY)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
    assert len(os.pread(descriptor, size, offset)) == size
    os.close(descriptor)


@pytest.mark.parametrize("method", METHODS)
def test_a_range_that_was_read_is_told_from_one_that_was_not(tmp_path, method):
    """The second of four MiB is resident, the others are not."""
    path = make_disk_file(tmp_path)
    evict([path])
    bring(path, 2**20, 2**20)
    quarters = ask(path, *((number * 2**20, 2**20) for number in range(4)), only=method)
    if method in EXACT:
        assert quarters == [0, 2**20, 0, 0]
    else:
        assert quarters[1] == 2**20
        assert max(quarters[0], quarters[2], quarters[3]) < 2**20 // 4


@pytest.mark.parametrize("method", EXACT)
@pytest.mark.parametrize(
    ("offset", "size", "resident"),
    [
        (2**20, PAGE_BYTES, PAGE_BYTES),
        (2**20 - PAGE_BYTES, 2 * PAGE_BYTES, PAGE_BYTES),
        (2**20 - 100, 200, 100),
        (2**20 + 100, 200, 200),
        (2**20 - 100, 100, 0),
        (2**20, 0, 0),
    ],
)
def test_edges_count_by_pages(tmp_path, method, offset, size, resident):
    """A range over the border of a resident MiB counts its resident pages, each for an equal part."""
    path = make_disk_file(tmp_path)
    evict([path])
    bring(path, 2**20, 2**20)
    assert ask(path, (offset, size), only=method) == [resident]


def test_cachestat_tells_evictions_and_others_do_not(tmp_path):
    """Nothing was evicted for want of memory; mincore cannot know."""
    path = make_disk_file(tmp_path)
    span = Span(offset_bytes=0, size_bytes=SIZE, probes_count=64)
    with open_shard(path) as descriptor:
        _, (exact,) = ask_ranges(descriptor, path, [span])
        _, (less,) = ask_ranges(descriptor, path, [span], without={"cachestat"})
    assert exact == RangeResidency(resident_bytes=SIZE, total_bytes=SIZE, evicted_bytes=0)
    assert less == RangeResidency(resident_bytes=SIZE, total_bytes=SIZE, evicted_bytes=None)


def test_the_last_page_of_an_odd_file_counts_by_its_bytes(tmp_path):
    """A file of a page and ten bytes is resident with just these."""
    path = make_disk_file(tmp_path, size=PAGE_BYTES + 10)
    for method in METHODS:
        assert ask(path, (0, PAGE_BYTES + 10), only=method) == [PAGE_BYTES + 10]


def test_no_interface_is_an_error(tmp_path):
    """Unknown is never taken for cold."""
    path = make_disk_file(tmp_path)
    with open_shard(path) as descriptor, pytest.raises(ProbeError, match="no interface of this kernel"):
        ask_ranges(descriptor, path, [Span(offset_bytes=0, size_bytes=1, probes_count=1)], without=METHODS)


STRANGER = """
import ctypes, os, sys
from pathlib import Path
from streamworthy.bench.page_cache import Span, ask_ranges
os.setgroups([]); os.setgid(65534); os.setuid(65534)
if sys.argv[2] == "in a user namespace" and ctypes.CDLL(None).unshare(0x10000000) != 0:
    sys.exit(77)
path = Path(sys.argv[1])
descriptor = os.open(path, os.O_RDONLY)
method, found = ask_ranges(descriptor, path, [Span(offset_bytes=0, size_bytes=4 << 20, probes_count=200)])
print(method, found[0].resident_bytes)
"""


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")
@pytest.mark.parametrize("place", ["outside", "in a user namespace"])
def test_a_stranger_is_answered_by_a_sample(tmp_path, place):
    """Mincore would tell him that a cold file is resident, and cachestat refuses.

    In a user namespace without a map both he and the owner have the number 65534.
    """
    path = make_disk_file(tmp_path)
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    evict([path])
    command = [sys.executable, "-c", STRANGER, str(path), place]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    if told.returncode == 77:
        pytest.skip("user namespaces are not permitted here")
    method, resident = told.stdout.rsplit(maxsplit=1)
    assert method == "nowait sample"
    assert int(resident) < SIZE // 10


@pytest.mark.root
def test_overlayfs_is_asked_by_mincore(overlaid):
    """Cachestat looks at the wrong inode there and says that nothing is resident."""
    with open_shard(overlaid) as descriptor:
        method, (found,) = ask_ranges(descriptor, overlaid, [Span(offset_bytes=0, size_bytes=SIZE, probes_count=1)])
    assert (method, found.resident_bytes) == ("mincore", SIZE)
