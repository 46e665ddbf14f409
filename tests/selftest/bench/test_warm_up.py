"""Warming in order and within a budget, on a real file."""

from __future__ import annotations

import pytest

from streamworthy.bench.evict import evict
from streamworthy.bench.residency import residency
from streamworthy.bench.residency_map import residency_of
from streamworthy.bench.warm_up import Piece, cut_pieces, order_places, warm_up
from streamworthy.errors import ProbeError
from streamworthy.facts.tensor_kinds import TensorKind, TensorPlace
from tests.selftest.bench.disk_file import SIZE, make_disk_file

MIB = 2**20
# four tensors of one file, in its order; the wanted order is 3, 2, 1, 0
KINDS = ((TensorKind.UNUSED, 2), (TensorKind.ROUTED, 1), (TensorKind.ROUTED, 0), (TensorKind.DENSE, 1))


@pytest.fixture
def cold(tmp_path):
    """Make a cold file; give its path and its tensors."""
    path = make_disk_file(tmp_path)
    evict([path])
    return path, [
        TensorPlace(path=path, offset_bytes=number * MIB, size_bytes=MIB, kind=kind, layer=layer)
        for number, (kind, layer) in enumerate(KINDS)
    ]


def test_the_order_is_by_use(tmp_path):
    """Every token's tensors, output, embeddings, experts by layer, and last what is never read."""
    wanted = [
        (TensorKind.DENSE, None),
        (TensorKind.DENSE, 3),
        (TensorKind.SHARED, 0),
        (TensorKind.OUTPUT, None),
        (TensorKind.EMBEDDING, None),
        (TensorKind.ROUTED, 0),
        (TensorKind.ROUTED, 2),
        (TensorKind.ROUTED, 10),
        (TensorKind.UNUSED, 1),
    ]
    places = [
        TensorPlace(path=tmp_path, offset_bytes=number, size_bytes=1, kind=kind, layer=layer)
        for number, (kind, layer) in enumerate(wanted)
    ]
    assert order_places(reversed(places)) == places


@pytest.mark.parametrize(
    ("budget", "sizes"),
    [(0, []), (MIB, [MIB]), (MIB + 1, [MIB, 1]), (17 * MIB, [MIB, 16 * MIB]), (99 * MIB, [MIB, 16 * MIB, 4 * MIB])],
)
def test_pieces_end_with_the_budget(tmp_path, budget, sizes):
    """A large tensor is cut, and the last piece too."""
    places = [
        TensorPlace(path=tmp_path, offset_bytes=0, size_bytes=MIB, kind=TensorKind.DENSE, layer=0),
        TensorPlace(path=tmp_path, offset_bytes=MIB, size_bytes=20 * MIB, kind=TensorKind.ROUTED, layer=0),
    ]
    pieces = list(cut_pieces(places, budget))
    assert [piece.size_bytes for piece in pieces] == sizes
    assert pieces[:1] == [Piece(path=tmp_path, offset_bytes=0, size_bytes=MIB)][: len(pieces)]


@pytest.mark.parametrize("count", range(5))
def test_a_budget_brings_the_first_tensors_and_nothing_else(cold, count):
    """Read-ahead does not go beyond what is wanted."""
    path, places = cold
    done = warm_up(places, count * MIB)
    assert (done.wanted_bytes, done.before_bytes, done.read_bytes, done.after_bytes) == (
        count * MIB, 0, count * MIB, count * MIB
    )  # fmt: skip
    assert residency([path]).resident_bytes == count * MIB
    assert residency_of(places[4 - count :]).share == 1.0


def test_what_is_there_is_not_read_again(cold):
    """It counts as wanted and found."""
    _, places = cold
    warm_up(places, 2 * MIB)
    done = warm_up(places, 99 * MIB)
    assert (done.wanted_bytes, done.before_bytes, done.read_bytes, done.after_bytes) == (SIZE, 2 * MIB, 2 * MIB, SIZE)


def test_progress_tells_bytes(cold, monkeypatch):
    """From what was there to all of it."""
    monkeypatch.setattr("streamworthy.bench.warm_up._REPORT_SECONDS", 0.0)
    _, places = cold
    told = []
    warm_up(places, 99 * MIB, progress=lambda done, total: told.append((done, total)))
    assert told == [(number * MIB, SIZE) for number in range(1, 5)]


def test_a_file_that_is_gone_is_an_error(tmp_path):
    """Named."""
    gone = TensorPlace(path=tmp_path / "gone", offset_bytes=0, size_bytes=1, kind=TensorKind.DENSE, layer=0)
    with pytest.raises(ProbeError, match="gone: cannot be opened"):
        warm_up([gone], 1)


def test_a_file_that_was_cut_ends_the_reading(cold):
    """What is not there is not waited for."""
    path, places = cold
    with path.open("r+b") as file:
        file.truncate(MIB)
    assert warm_up(places, 99 * MIB).wanted_bytes == SIZE
