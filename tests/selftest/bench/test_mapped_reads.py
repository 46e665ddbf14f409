"""Slabs through a map."""

from __future__ import annotations

import pytest

from streamworthy.bench.direct_reads import Piece
from streamworthy.bench.evict import evict
from streamworthy.bench.mapped_reads import CHUNK_BYTES, map_files, populate_pieces, touch_pieces
from streamworthy.bench.residency_map import residency_of
from streamworthy.errors import ProbeError
from streamworthy.facts.tensor_kinds import TensorKind, TensorPlace
from tests.selftest.bench.disk_file import SIZE, make_disk_file

SLAB = 5 * CHUNK_BYTES + 1001  # ends within a chunk, and within a word


@pytest.fixture
def shard(tmp_path):
    """A cold file."""
    path = make_disk_file(tmp_path)
    assert not evict([path]).kept
    return path


def slabs(path):
    """Two slabs at unaligned places."""
    return [Piece(path=path, offset_bytes=place, size_bytes=SLAB) for place in (4097, SIZE - SLAB)]


def resident_share(slab):
    """Tell how much of a slab is in memory."""
    place = TensorPlace(
        path=slab.path, offset_bytes=slab.offset_bytes, size_bytes=SLAB, kind=TensorKind.ROUTED, layer=0
    )
    return residency_of([place]).share


@pytest.mark.parametrize("read", [touch_pieces, populate_pieces])
def test_every_byte_of_a_slab_comes_in(shard, read):
    """By faults and by populating, with more threads than slabs; the last word may be cut."""
    with map_files([shard]) as maps:
        done = read(maps, slabs(shard), threads=3, budget_seconds=10.0)
    if done is None:
        pytest.skip("this kernel has no MADV_POPULATE_READ (5.14)")
    assert done.useful_bytes == 2 * SLAB
    assert [resident_share(slab) for slab in slabs(shard)] == [1.0, 1.0]


def test_time_ends_a_run(shard):
    """No chunk is begun after it."""
    with map_files([shard]) as maps:
        done = touch_pieces(maps, slabs(shard), threads=2, budget_seconds=-1.0)
    assert done.useful_bytes == 0


@pytest.mark.parametrize("read", [touch_pieces, populate_pieces])
def test_a_file_that_was_cut_is_not_touched(shard, read):
    """Beyond its end a map kills the reader, so the size is looked at first."""
    with map_files([shard]) as maps:
        with shard.open("r+b") as file:
            file.truncate(SIZE - 1)
        with pytest.raises(ProbeError, match=f"found {SIZE - 1} bytes, expected {SIZE}"):
            read(maps, slabs(shard), threads=2, budget_seconds=1.0)


def test_a_file_that_cannot_be_mapped_is_named(tmp_path):
    """An empty file has nothing to map."""
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(ProbeError, match="empty: cannot be mapped"), map_files([tmp_path / "empty"]):
        pass
