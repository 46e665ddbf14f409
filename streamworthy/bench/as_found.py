"""Reading a file's head without leaving it in the page cache: a look must not change what is looked at.

A header of kilobytes brings in megabytes, as much as the device's read-ahead allows.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from streamworthy.bench.page_cache import PAGE_BYTES, is_trusted, open_shard, resident_pages
from streamworthy.errors import ProbeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

HEAD_BYTES = 64 * 2**20  # the largest headers have 20 MB; a read-ahead window beyond them is at most 32
_PASSES = 10  # pages that were just read may be on a processor's list, which DONTNEED skips
_PAUSE_SECONDS = 0.005


@contextmanager
def as_found(paths: Sequence[Path]) -> Iterator[None]:
    """Drop afterwards the pages of the files' heads that were not in the page cache before.

    Where this user is not told which they are, or may not open a file, nothing is dropped.
    """
    before = {path: _look(path) for path in paths}
    try:
        yield
    finally:
        _drop_new({path: seen for path, seen in before.items() if seen is not None and 0 in seen})


def _look(path: Path) -> bytes | None:
    try:
        with open_shard(path) as descriptor:
            if not hasattr(os, "posix_fadvise") or not is_trusted(descriptor, path):
                return None
            return resident_pages(descriptor, min(HEAD_BYTES, os.fstat(descriptor).st_size))
    except ProbeError:  # whoever reads it says so
        return None


def _drop_new(before: dict[Path, bytes]) -> None:
    left = before
    for _ in range(_PASSES):
        left = {path: seen for path, seen in left.items() if _drop_once(path, seen)}
        if not left:
            return
        time.sleep(_PAUSE_SECONDS)


def _drop_once(path: Path, before: bytes) -> bool:
    """Ask for the new pages to be dropped; False when there are none."""
    runs: list[tuple[int, int]] = []
    with suppress(ProbeError), open_shard(path) as descriptor:
        now = resident_pages(descriptor, len(before) * PAGE_BYTES) or b""
        runs = list(_new_runs(before, now))
        for first, count in runs:
            os.posix_fadvise(descriptor, first * PAGE_BYTES, count * PAGE_BYTES, os.POSIX_FADV_DONTNEED)
    return bool(runs)


def _new_runs(before: bytes, now: bytes) -> Iterator[tuple[int, int]]:
    """Give runs of pages (first, count) of which none was resident before and the first is now."""
    start = 0
    while (first := now.find(1, start)) >= 0:
        if before[first]:
            start = first + 1
            continue
        end = min((place for place in (now.find(0, first), before.find(1, first)) if place >= 0), default=len(before))
        yield first, end - first
        start = end
