"""Reads past the page cache, with a number of them in flight.

A thread for each read in flight, each with a page-aligned buffer of its own (open(2): O_DIRECT); preadv releases the
interpreter lock, so the device sees the depth that was asked for.
"""

from __future__ import annotations

import errno
import mmap
import os
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamworthy.errors import ProbeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

ALIGNMENT_BYTES = 4096  # no device asks for more
_HANG_SECONDS = 10.0  # beyond the time given, after which a disk is given up


class DirectRefusedError(ProbeError):
    """The filesystem does not take O_DIRECT."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What one read is to bring; ``size_bytes`` are the useful ones, from ``offset_bytes`` of a file."""

    path: Path
    offset_bytes: int
    size_bytes: int

    @property
    def aligned_offset_bytes(self) -> int:
        """Where a direct read of it has to begin."""
        return self.offset_bytes - self.offset_bytes % ALIGNMENT_BYTES

    @property
    def aligned_bytes(self) -> int:
        """How long a direct read of it has to be."""
        end = self.offset_bytes + self.size_bytes
        return -(-end // ALIGNMENT_BYTES) * ALIGNMENT_BYTES - self.aligned_offset_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """Pieces that were read."""

    seconds: float  # from the first read's start to the last one's end
    useful_bytes: int
    pieces_count: int  # of the given ones, from the first
    latencies_seconds: tuple[float, ...]  # in the order in which reads ended, within each thread

    @property
    def rate_bytes_per_second(self) -> float:
        """Useful bytes a second."""
        return self.useful_bytes / max(self.seconds, 1e-9)


@contextmanager
def open_direct(paths: Sequence[Path]) -> Iterator[Mapping[Path, int]]:
    """Open files for direct reads; DirectRefusedError where that is not possible, ProbeError for one unreadable."""
    with ExitStack() as stack:
        opened = {}
        for path in paths:
            opened[path] = _open(path)
            stack.callback(os.close, opened[path])
        yield opened


def _open(path: Path) -> int:
    if not hasattr(os, "O_DIRECT"):
        raise DirectRefusedError(f"{path}: this system has no O_DIRECT", fix="run the performance gates on Linux")
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECT)
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise DirectRefusedError(f"{path}: its filesystem refuses O_DIRECT when the file is opened") from error
        raise ProbeError(f"{path}: cannot be opened: {error.strerror}", fix=f"ls -l '{path}'") from error


def read_pieces(
    opened: Mapping[Path, int], pieces: Sequence[Piece], *, depth: int, budget_seconds: float, timed: bool = False
) -> Done:
    """Read pieces in their order, ``depth`` at a time, until they or the time are used up.

    ``timed`` keeps each read's latency. ProbeError when a read fails or the disk does not answer.
    """
    work = _Work(opened, pieces, deadline=time.perf_counter() + budget_seconds, timed=timed)
    threads = [threading.Thread(target=work.run, name=f"direct-read-{n}", daemon=True) for n in range(depth)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, started + budget_seconds + _HANG_SECONDS - time.perf_counter()))
    if any(thread.is_alive() for thread in threads):
        raise ProbeError(f"{pieces[0].path}: a read did not return in {_HANG_SECONDS:.0f} s: the disk hangs")
    if work.failed is not None:
        raise work.failed
    return Done(
        seconds=max(work.ends, default=started) - started,
        useful_bytes=sum(work.useful),
        pieces_count=len(work.useful),
        latencies_seconds=tuple(work.latencies),
    )


class _Work:
    """What the threads of one run share; a list's iterator and append are atomic."""

    def __init__(self, opened: Mapping[Path, int], pieces: Sequence[Piece], *, deadline: float, timed: bool) -> None:
        self._opened = opened
        self._next = iter(pieces)
        self._buffer_bytes = max((piece.aligned_bytes for piece in pieces), default=ALIGNMENT_BYTES)
        self._deadline = deadline
        self._timed = timed
        self.useful: list[int] = []
        self.ends: list[float] = []
        self.latencies: list[float] = []
        self.failed: ProbeError | None = None

    def run(self) -> None:
        """Read in one thread; a failure is kept for the one who waits."""
        try:
            with mmap.mmap(-1, self._buffer_bytes) as buffer:
                self._read(buffer)
        except ProbeError as error:
            self.failed = error

    def _read(self, buffer: mmap.mmap) -> None:
        view = memoryview(buffer)
        try:
            for piece in self._next:
                began, ended = self._one(piece, view)
                self.useful.append(piece.size_bytes)
                if self._timed:
                    self.latencies.append(ended - began)
                if ended > self._deadline or self.failed is not None:
                    break
            self.ends.append(time.perf_counter())
        finally:
            view.release()

    def _one(self, piece: Piece, view: memoryview) -> tuple[float, float]:
        """Read a piece; the moments before and after, with nothing else of this program between them."""
        descriptor, asked, offset = self._opened[piece.path], piece.aligned_bytes, piece.aligned_offset_bytes
        try:
            with view[:asked] as part:  # released, or the buffer could not be closed
                buffers = (part,)
                began = time.perf_counter()
                got = os.preadv(descriptor, buffers, offset)
                ended = time.perf_counter()
        except OSError as error:
            kind = DirectRefusedError if error.errno == errno.EINVAL else ProbeError
            raise kind(f"{piece.path}: a direct read failed: {error.strerror}") from error
        if got < piece.offset_bytes + piece.size_bytes - offset:
            raise ProbeError(f"{piece.path}: found {got} bytes at {offset}, expected {asked}")
        return began, ended
