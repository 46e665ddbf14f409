"""Holds each shard's tensor table against the file's length: truncation is found without reading data."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from streamworthy.facts.shards import ExtentFacts, SetExtents
from streamworthy.gguf.cursor import unreadable
from streamworthy.gguf.end_reads import read_ends

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from streamworthy.facts.gguf import HeaderFacts, ShardHeader
    from streamworthy.facts.shards import ShardFile

_MOST_HOLES = 10_000
_END_READS_SECONDS = 10.0  # for all shards; a spinning disk reads the ends of a thousand extents in it
_CUT = ("truncated", "empty")


def probe_extents(shards: Sequence[ShardFile], headers: Sequence[ShardHeader]) -> SetExtents:
    """Compare what the headers promise with what is in the files. ProbeError when a file cannot be opened."""
    deadline = time.monotonic() + _END_READS_SECONDS
    there = {shard.number: shard for shard in shards if shard.real_path is not None}
    return SetExtents(
        shards=tuple(
            _probe(Path(there[entry.number].path), entry.header, deadline)
            for entry in headers
            if entry.header is not None
        ),
        cut=tuple(_broken(headers, cut=True)),
        unread=tuple(_broken(headers, cut=False)),
    )


def _broken(headers: Iterable[ShardHeader], *, cut: bool) -> Iterable[str]:
    for entry in headers:
        if entry.header is None and entry.faults and (entry.faults[-1].kind in _CUT) == cut:
            yield f"{entry.name}: {entry.faults[-1].line}"


def _probe(path: Path, header: HeaderFacts, deadline: float) -> ExtentFacts:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise unreadable(path, error) from error
    try:
        return _measure(path, descriptor, header, deadline)
    except OSError as error:
        raise unreadable(path, error) from error
    finally:
        os.close(descriptor)


def _measure(path: Path, descriptor: int, header: HeaderFacts, deadline: float) -> ExtentFacts:
    have, need = os.fstat(descriptor).st_size, header.need_bytes
    start = header.data_start_bytes
    outside = [one for one in header.tensors if start + one.offset_bytes + one.size_bytes > have]
    padded = -(-need // header.alignment_bytes) * header.alignment_bytes
    first_hole, hole_bytes = _holes(descriptor, min(have, need))
    return ExtentFacts(
        name=path.name,
        need_bytes=need,
        have_bytes=have,
        outside_count=len(outside),
        tensor_count=len(header.tensors),
        first_outside=outside[0].name if outside else "",
        hole_bytes=hole_bytes,
        first_hole_bytes=first_hole,
        trailing_bytes=max(0, have - padded),
        trailing_magic=have > padded and os.pread(descriptor, 4, padded) == b"GGUF",
        ends=read_ends(path, descriptor, deadline),
    )


def _holes(descriptor: int, end: int) -> tuple[int | None, int]:
    """Find the ranges below ``end`` that were never written (lseek(2), SEEK_HOLE): the first, and their bytes."""
    if not hasattr(os, "SEEK_HOLE"):
        return None, 0
    first, found, position = None, 0, 0
    for _ in range(_MOST_HOLES):
        hole = os.lseek(descriptor, position, os.SEEK_HOLE)
        if hole >= end:
            break
        first = hole if first is None else first
        try:
            position = min(end, os.lseek(descriptor, hole, os.SEEK_DATA))
        except OSError:  # ENXIO: no data behind the hole
            position = end
        found += position - hole
        if position >= end:
            break
    return first, found
