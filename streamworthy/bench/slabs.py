"""Random slabs of one size through each path, no slab read twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamworthy.bench.direct_reads import open_direct, read_pieces
from streamworthy.bench.evict import evict
from streamworthy.bench.mapped_reads import map_files, populate_pieces, touch_pieces
from streamworthy.errors import ProbeError
from streamworthy.facts.disk import SlabSize

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from random import Random

    from streamworthy.bench.direct_reads import Done, Piece
    from streamworthy.bench.metering import Meter
    from streamworthy.facts.disk import ReadRate

_PATHS = 4
_SPREAD_SHARE = 0.02  # of the shards in one cold round: more, and read-ahead finds what it brought before
_LEAST_SLABS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class SlabTask:
    """How slabs are to be read; ``seconds`` are for all sizes and paths together."""

    paths: tuple[Path, ...]
    meter: Meter
    threads: int
    depth: int
    rounds_count: int
    seconds: float
    direct: bool
    chooser: Random

    def share(self, sizes: int) -> float:
        """Give the seconds of one round of one path."""
        return self.seconds / sizes / _PATHS / self.rounds_count


class _WarmError(Exception):
    """The shards stayed in memory; the text says why."""


def measure_slabs(task: SlabTask, places: Mapping[int, Sequence[Piece]]) -> tuple[tuple[SlabSize, ...], str]:
    """Measure each size; also why the mapped paths could not begin cold, empty when they did."""
    found, warm = [], ""
    for size, pieces in sorted(places.items()):
        seconds = task.share(len(places))
        parts = _deal(task, pieces, _PATHS * task.rounds_count)
        one, eight, touched, populated = (parts[number::_PATHS] for number in range(_PATHS))
        mapped: tuple[ReadRate | None, ReadRate | None] = (None, None)
        if not warm:
            try:
                mapped = _mapped(task, _few(task, touched), _few(task, populated), size, seconds)
            except _WarmError as error:
                warm = str(error)
        found.append(
            SlabSize(
                slab_bytes=size,
                one=_direct(task, one, size, 1, seconds),
                eight=_direct(task, eight, size, task.depth, seconds),
                mapped=mapped[0],
                populated=mapped[1],
            )
        )
    return tuple(found), warm


def _deal(task: SlabTask, pieces: Sequence[Piece], count: int) -> list[list[Piece]]:
    """Deal all slabs in random order to so many rounds."""
    if len(pieces) < count:
        raise ProbeError(f"slabs: found {len(pieces)} of one size, expected at least {count} for {count} rounds")
    mixed = task.chooser.sample(pieces, len(pieces))
    return [mixed[number::count] for number in range(count)]


def _few(task: SlabTask, parts: Sequence[list[Piece]]) -> list[list[Piece]]:
    total = sum(path.stat().st_size for path in task.paths)
    most = max(_LEAST_SLABS, int(total * _SPREAD_SHARE / parts[0][0].size_bytes))
    return [part[:most] for part in parts]


def _direct(task: SlabTask, parts: Sequence[list[Piece]], size: int, depth: int, seconds: float) -> ReadRate | None:
    if not task.direct:
        return None
    with open_direct(task.paths) as opened:
        runs = [lambda part=part: read_pieces(opened, part, depth=depth, budget_seconds=seconds) for part in parts]
        return task.meter.rounds(runs, path="O_DIRECT", block_bytes=size, lanes=depth)


def _mapped(
    task: SlabTask, touched: list[list[Piece]], populated: list[list[Piece]], size: int, seconds: float
) -> tuple[ReadRate, ReadRate | None]:
    def rounds(name: str, parts: list[list[Piece]], read: Callable[[list[Piece]], Done]) -> ReadRate:
        runs = [lambda part=part: read(part) for part in parts]
        return task.meter.rounds(
            runs, path=name, block_bytes=size, lanes=task.threads, prepare=lambda: _make_cold(task.paths)
        )

    def touch(part: list[Piece]) -> Done:
        with map_files(task.paths) as maps:
            return touch_pieces(maps, part, threads=task.threads, budget_seconds=seconds)

    def populate(part: list[Piece]) -> Done:
        with map_files(task.paths) as maps:
            done = populate_pieces(maps, part, threads=task.threads, budget_seconds=seconds)
        if done is None:
            raise _UnknownError
        return done

    first = rounds("mmap faults", touched, touch)
    try:
        return first, rounds("MADV_POPULATE_READ", populated, populate)
    except _UnknownError:
        return first, None


class _UnknownError(Exception):
    """The kernel does not know MADV_POPULATE_READ."""


def _make_cold(paths: Sequence[Path]) -> float:
    found = evict(paths)
    if found.kept:
        raise _WarmError(found.kept)
    return found.after.share
