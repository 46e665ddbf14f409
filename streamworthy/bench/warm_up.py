"""Reading a model into the page cache in a useful order: what every token reads first, then experts layer by layer."""

from __future__ import annotations

import os
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamworthy.bench.page_cache import Span, ask_ranges, open_shard
from streamworthy.facts.cache import WarmUp
from streamworthy.facts.tensor_kinds import EVERY_TOKEN, TensorKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from streamworthy.facts.tensor_kinds import TensorPlace

_PIECE_BYTES = 16 * 2**20  # what is asked about, and read if it is not all there
_READ_BYTES = 2 * 2**20
_READERS = 4  # an NVMe drive needs several requests in flight
_REPORT_SECONDS = 2.0
_RANKS = {kind: rank for rank, kind in enumerate((*EVERY_TOKEN, TensorKind.EMBEDDING))}  # all before any expert


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of a file that is warmed in one step."""

    path: Path
    offset_bytes: int
    size_bytes: int


def order_places(places: Iterable[TensorPlace]) -> list[TensorPlace]:
    """Sort tensors: those read for every token, embeddings, experts by layer, unused layers; then as they lie."""

    def key(place: TensorPlace) -> tuple[int, int, str, int]:
        last = len(_RANKS) + (place.kind is TensorKind.UNUSED)
        layer = -1 if place.layer is None or place.kind in _RANKS else place.layer
        return (_RANKS.get(place.kind, last), layer, str(place.path), place.offset_bytes)

    return sorted(places, key=key)


def cut_pieces(places: Iterable[TensorPlace], budget_bytes: int) -> Iterator[Piece]:
    """Cut the tensors, in their order, into pieces until the budget is used up."""
    left = budget_bytes
    for place in places:
        for offset in range(0, place.size_bytes, _PIECE_BYTES):
            size = min(_PIECE_BYTES, place.size_bytes - offset, left)
            if size <= 0:
                return
            left -= size
            yield Piece(path=place.path, offset_bytes=place.offset_bytes + offset, size_bytes=size)


def warm_up(
    places: Iterable[TensorPlace], budget_bytes: int, *, progress: Callable[[int, int], None] | None = None
) -> WarmUp:
    """Bring the first ``budget_bytes`` of the ordered tensors into the page cache; what is there counts and stays.

    ``progress`` gets bytes done and bytes in all, every two seconds. ProbeError when a file cannot be read.
    """
    pieces = list(cut_pieces(order_places(places), budget_bytes))
    wanted = sum(piece.size_bytes for piece in pieces)
    started = time.monotonic()
    with ExitStack() as stack:
        files = {path: stack.enter_context(open_shard(path)) for path in {piece.path: None for piece in pieces}}
        for descriptor in files.values() if hasattr(os, "posix_fadvise") else ():
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)  # or read-ahead goes beyond what is wanted
        before = [_resident(files, piece) for piece in pieces]
        missing = [piece for piece, found in zip(pieces, before, strict=True) if found < piece.size_bytes]
        _read_all(files, missing, wanted, progress)
        return WarmUp(
            wanted_bytes=wanted,
            before_bytes=sum(before),
            read_bytes=wanted - sum(before),
            after_bytes=sum(_resident(files, piece) for piece in pieces),
            seconds=time.monotonic() - started,
        )


def _resident(files: Mapping[Path, int], piece: Piece) -> int:
    span = Span(offset_bytes=piece.offset_bytes, size_bytes=piece.size_bytes, probes_count=4)
    _, (found,) = ask_ranges(files[piece.path], piece.path, [span])
    return found.resident_bytes


def _read_all(
    files: Mapping[Path, int],
    pieces: Sequence[Piece],
    wanted: int,
    progress: Callable[[int, int], None] | None,
) -> None:
    done = wanted - sum(piece.size_bytes for piece in pieces)
    reported = time.monotonic()
    readers = ThreadPoolExecutor(max_workers=_READERS)
    try:
        waiting = deque((piece, readers.submit(_read, files[piece.path], piece)) for piece in pieces)
        while waiting:
            piece, reading = waiting.popleft()
            reading.result()
            done += piece.size_bytes
            if progress and time.monotonic() - reported >= _REPORT_SECONDS:
                reported = time.monotonic()
                progress(done, wanted)
    finally:  # on Ctrl-C the pieces that nobody reads yet are given up
        readers.shutdown(cancel_futures=True)


def _read(descriptor: int, piece: Piece) -> None:
    buffer = bytearray(min(_READ_BYTES, piece.size_bytes))
    position, end = piece.offset_bytes, piece.offset_bytes + piece.size_bytes
    while position < end:
        count = os.preadv(descriptor, [memoryview(buffer)[: end - position]], position)
        if count == 0:  # the file was cut meanwhile
            return
        position += count
