"""Reads a file once from end to end for hashing, as fast as the disk allows, and leaves the page cache as it was.

A file that is not in the page cache is read with O_DIRECT, several large reads in flight: the kernel's read-ahead keeps
only one in flight, and what it reads stays in the cache. A cached file is read through the cache.
"""

from __future__ import annotations

import errno
import mmap
import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from streamworthy.bench.evict import COLD_SHARE, WARM_SHARE
from streamworthy.bench.residency import residency
from streamworthy.errors import ProbeError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from concurrent.futures import Future
    from pathlib import Path

_CHUNK_BYTES = 2**20  # a multiple of every block and page size; larger ones only start later
_CACHED_CHUNK_BYTES = 256 * 2**10  # stays in a core's L2 between the copy from the page cache and the hash
_IN_FLIGHT = 4
_PROBE_BYTES = 64 * 2**10
_O_DIRECT = getattr(os, "O_DIRECT", 0)  # macOS has none


@contextmanager
def reading(path: Path, *, ahead: bool, direct_flag: int = _O_DIRECT) -> Iterator[Iterator[memoryview]]:
    """Open a file and give its bytes in order; each piece is valid until the next one is asked for.

    ``ahead`` reads a cached file in a second thread, for when a core would be idle. OSError when the file cannot be
    read, ProbeError when it changes meanwhile.
    """
    share = _resident_share(path)
    handle, direct = _open(path, direct_flag if share is None or share < WARM_SHARE else 0)
    try:
        before = os.fstat(handle)
        with closing(_read(handle, before.st_size, share=share, direct=direct, ahead=ahead)) as pieces:
            yield pieces
        if _state(os.fstat(handle)) != _state(before) or _state(path.stat()) != _state(before):
            raise ProbeError("changed while it was hashed", fix="wait until the download is complete")
    finally:
        os.close(handle)


def _resident_share(path: Path) -> float | None:
    """Give the file's share in the page cache; None where no interface tells."""
    try:
        return residency((path,)).share
    except ProbeError:
        return None


def _read(
    handle: int, size_bytes: int, *, share: float | None, direct: bool, ahead: bool
) -> Generator[memoryview, None, None]:
    if direct:
        return _read_in_flight(handle, size_bytes, depth=_IN_FLIGHT, drop=False)
    if share is not None and share <= COLD_SHARE:  # direct reads are refused here
        return _read_in_flight(handle, size_bytes, depth=_IN_FLIGHT, drop=True)
    if ahead:
        return _read_in_flight(handle, size_bytes, depth=2, drop=False)
    return _read_cached(handle, size_bytes)


def _state(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns


def _open(path: Path, direct_flag: int) -> tuple[int, bool]:
    """Open a file, past the page cache if asked and possible; tells whether it is."""
    if direct_flag:
        try:
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | direct_flag)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
        else:
            if _reads(handle):
                return handle, True
            os.close(handle)
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC), False


def _reads(handle: int) -> bool:
    """Tell whether aligned direct reads work: some file systems accept the flag and refuse the read."""
    try:
        os.preadv(handle, [mmap.mmap(-1, _PROBE_BYTES)], 0)
    except OSError as error:
        if error.errno == errno.EINVAL:
            return False
        os.close(handle)
        raise
    return True


def _read_cached(handle: int, size_bytes: int) -> Generator[memoryview, None, None]:
    buffer = memoryview(bytearray(_CACHED_CHUNK_BYTES))
    for offset in range(0, size_bytes, _CACHED_CHUNK_BYTES):
        yield _read_piece(handle, buffer, offset, min(_CACHED_CHUNK_BYTES, size_bytes - offset))


def _read_in_flight(handle: int, size_bytes: int, *, depth: int, drop: bool) -> Generator[memoryview, None, None]:
    buffers = deque(memoryview(mmap.mmap(-1, _CHUNK_BYTES)) for _ in range(depth))  # page-aligned
    pending: deque[tuple[int, memoryview, Future[memoryview]]] = deque()
    offsets = iter(range(0, size_bytes, _CHUNK_BYTES))
    pool = ThreadPoolExecutor(depth, thread_name_prefix="hash-read")
    try:
        while True:
            while buffers and (offset := next(offsets, None)) is not None:
                wanted = min(_CHUNK_BYTES, size_bytes - offset)
                buffer = buffers.popleft()
                pending.append((offset, buffer, pool.submit(_read_piece, handle, buffer, offset, wanted)))
            if not pending:
                return
            offset, buffer, piece = pending.popleft()
            yield piece.result()
            if drop:
                os.posix_fadvise(handle, offset, _CHUNK_BYTES, os.POSIX_FADV_DONTNEED)
            buffers.append(buffer)
    finally:
        pool.shutdown(cancel_futures=True)
        if drop:  # what read-ahead brought in beyond, and folios across chunks
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)


def _read_piece(handle: int, buffer: memoryview, offset: int, wanted: int) -> memoryview:
    """Fill the buffer from ``offset``: exactly ``wanted`` bytes have to be there, or the file is not what it was."""
    got = 0
    while got < wanted:
        count = os.preadv(handle, [buffer[got:]], offset + got)
        if count == 0:
            raise ProbeError("became shorter while it was hashed", fix="wait until the download is complete")
        got += count
    return buffer[:wanted]
