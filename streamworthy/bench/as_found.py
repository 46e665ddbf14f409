"""Reading a file's head without leaving it in the page cache: a look must not change what is looked at.

A header of kilobytes brings in megabytes, as much as the device's read-ahead allows.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from streamworthy.bench.page_cache import METHODS, Span, ask_ranges
from streamworthy.bench.residency_map import open_shard
from streamworthy.errors import ProbeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

HEAD_BYTES = 64 * 2**20  # the largest headers have 20 MB; a read-ahead window beyond them is at most 32
_CHUNK_BYTES = 2**20
_PASSES = 5  # pages that were just read may be on a processor's list, which DONTNEED skips
_PAUSE_SECONDS = 0.005


@contextmanager
def as_found(paths: Sequence[Path]) -> Iterator[None]:
    """Drop afterwards what the files' heads did not have in the page cache before; where that is not known, nothing."""
    absent = {path: _absent(path) for path in paths}
    try:
        yield
    finally:
        for path, chunks in absent.items():
            if chunks:
                _drop(path, chunks)


def _absent(path: Path) -> list[Span]:
    """Give the parts of a file's head of which no page is resident."""
    end = min(HEAD_BYTES, path.stat().st_size)
    chunks = [_chunk(offset, end) for offset in range(0, end, _CHUNK_BYTES)]
    return [chunk for chunk, found in zip(chunks, _ask(path, chunks), strict=False) if found == 0]


def _chunk(offset: int, end: int) -> Span:
    return Span(offset_bytes=offset, size_bytes=min(_CHUNK_BYTES, end - offset), probes_count=0)


def _ask(path: Path, chunks: Sequence[Span]) -> list[int]:
    """Give the resident bytes of each part; nothing where only a sample could tell, which would itself read."""
    try:
        with open_shard(path) as descriptor:
            _, found = ask_ranges(descriptor, path, chunks, without={METHODS[2]})
    except ProbeError:
        return []
    return [part.resident_bytes for part in found]


def _drop(path: Path, chunks: Sequence[Span]) -> None:
    with open_shard(path) as descriptor:
        for _ in range(_PASSES):
            came = [chunk for chunk, found in zip(chunks, _ask(path, chunks), strict=False) if found]
            if not came:
                return
            begin, end = came[0].offset_bytes, came[-1].offset_bytes + came[-1].size_bytes
            if len(came) == (came[-1].offset_bytes - begin) // _CHUNK_BYTES + 1:
                _forget(descriptor, begin, end - begin)  # at once: a large folio is dropped only as a whole
            else:
                for chunk in came:
                    _forget(descriptor, chunk.offset_bytes, chunk.size_bytes)
            time.sleep(_PAUSE_SECONDS)


def _forget(descriptor: int, offset: int, length: int) -> None:
    os.posix_fadvise(descriptor, offset, length, os.POSIX_FADV_DONTNEED)
