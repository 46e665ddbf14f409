"""Reads past the page cache."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from streamworthy.bench.direct_reads import DirectRefusedError, Piece, open_direct, read_pieces
from streamworthy.bench.evict import evict
from streamworthy.bench.residency import residency
from streamworthy.errors import ProbeError
from tests.selftest.bench.disk_file import make_disk_file


@pytest.fixture
def shard(tmp_path):
    """A cold file of 4 MiB that can be read directly."""
    path = make_disk_file(tmp_path)
    evict([path])
    try:
        with open_direct([path]) as opened:
            read_pieces(opened, [Piece(path=path, offset_bytes=0, size_bytes=1)], depth=1, budget_seconds=1.0)
    except DirectRefusedError as error:
        pytest.skip(error.message)
    return path


def pieces(path, size, count, step):
    """Cut a file into pieces at unaligned places."""
    return [Piece(path=path, offset_bytes=number * step + 17, size_bytes=size) for number in range(count)]


@pytest.mark.parametrize(
    ("offset", "size", "aligned"),
    [
        (0, 4096, (0, 4096)),
        (1, 4095, (0, 4096)),
        (4095, 2, (0, 8192)),
        (4096, 1, (4096, 4096)),
        (9000, 0, (8192, 4096)),
    ],
)
def test_a_read_covers_its_piece_with_whole_blocks(tmp_path, offset, size, aligned):
    """Direct reads begin and end on 4 KiB."""
    piece = Piece(path=tmp_path, offset_bytes=offset, size_bytes=size)
    assert (piece.aligned_offset_bytes, piece.aligned_bytes) == aligned


@pytest.mark.parametrize("depth", [1, 8])
def test_every_piece_is_read_once_and_nothing_stays_in_the_cache(shard, depth):
    """Unaligned slabs with several in flight: useful bytes are those asked for."""
    asked = pieces(shard, 100_000, 30, 130_000)
    with open_direct([shard]) as opened:
        done = read_pieces(opened, asked, depth=depth, budget_seconds=10.0, timed=True)
    assert (done.pieces_count, done.useful_bytes, len(done.latencies_seconds)) == (30, 3_000_000, 30)
    assert 0 < max(done.latencies_seconds) <= done.seconds
    assert done.rate_bytes_per_second == 3_000_000 / done.seconds
    assert residency([shard]).share == 0.0


def test_the_last_piece_ends_with_the_file(tmp_path, shard):
    """A file is seldom a multiple of 4 KiB long."""
    path = tmp_path / "odd"
    path.write_bytes(os.urandom(10_001))
    with open_direct([path]) as opened:
        done = read_pieces(
            opened, [Piece(path=path, offset_bytes=9_000, size_bytes=1_001)], depth=1, budget_seconds=1.0
        )
    assert done.useful_bytes == 1_001


def test_time_ends_a_run(shard):
    """Each thread finishes the read it is at."""
    with open_direct([shard]) as opened:
        done = read_pieces(opened, pieces(shard, 4096, 900, 4096), depth=2, budget_seconds=0.0)
    assert done.pieces_count == 2


def test_a_piece_beyond_the_file_is_an_error_that_names_it(shard):
    """A shard that was cut meanwhile."""
    beyond = Piece(path=shard, offset_bytes=4 * 2**20 - 100, size_bytes=200)
    with open_direct([shard]) as opened, pytest.raises(ProbeError, match=f"{shard}: found 4096 bytes at"):
        read_pieces(opened, [beyond], depth=2, budget_seconds=1.0)


def test_a_file_that_cannot_be_opened_is_named(tmp_path):
    """Missing is not refused."""
    with pytest.raises(ProbeError, match="No such file") as caught, open_direct([tmp_path / "gone"]):
        pass
    assert not isinstance(caught.value, DirectRefusedError)


def test_a_filesystem_without_direct_reads_refuses():
    """/proc takes no O_DIRECT; so do some FUSE filesystems."""
    with pytest.raises(DirectRefusedError), open_direct([Path("/proc/self/status")]) as opened:
        read_pieces(
            opened, [Piece(path=Path("/proc/self/status"), offset_bytes=0, size_bytes=1)], depth=1, budget_seconds=1.0
        )
