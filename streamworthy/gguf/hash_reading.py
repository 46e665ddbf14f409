"""Reads a file once from end to end for hashing, as fast as the disk allows, and leaves the page cache as it was.

A cached file is read through the cache. A cold one is read with O_DIRECT, several large reads in flight, where the
kernel's read-ahead (128 KiB by default) keeps less in flight. Where it keeps more, as 8 MiB on RAID and cloud disks do,
it is the faster way (twice as fast on a virtio disk), and what was read is dropped behind the reader.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from streamworthy.bench.evict import COLD_SHARE, WARM_SHARE
from streamworthy.bench.residency import residency
from streamworthy.errors import ProbeError
from streamworthy.probes.sysroot import Sysroot

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from concurrent.futures import Future
    from pathlib import Path

_CHUNK_BYTES = 2**20  # a multiple of every block and page size; larger ones only start later
_CACHED_CHUNK_BYTES = 256 * 2**10  # stays in a core's L2 between the copy from the page cache and the hash
_IN_FLIGHT = 4
_ENOUGH_BYTES = _IN_FLIGHT * _CHUNK_BYTES
_PROBE_BYTES = 64 * 2**10
_BEHIND_BYTES = 8 * 2**20  # is dropped at once: one call for many pages
O_DIRECT = getattr(os, "O_DIRECT", 0)  # macOS has none


@contextmanager
def reading(path: Path, *, ahead: bool, direct_flag: int = O_DIRECT) -> Iterator[Iterator[memoryview]]:
    """Open a file and give its bytes in order; each piece is valid until the next one is asked for.

    ``ahead`` reads a cached file in a second thread, for when a core would be idle. OSError when the file cannot be
    read, ProbeError when it changes meanwhile.
    """
    share = resident_share(path)
    handle, direct = open_past_cache(path, share, direct_flag=direct_flag)
    try:
        before = os.fstat(handle)
        with closing(_read(handle, before, share=share, direct=direct, ahead=ahead)) as pieces:
            yield pieces
        if _state(os.fstat(handle)) != _state(before) or _state(path.stat()) != _state(before):
            raise ProbeError("changed while it was read", fix="wait until the download is complete")
    finally:
        os.close(handle)


def resident_share(path: Path) -> float | None:
    """Give the file's share in the page cache; None where no interface tells."""
    try:
        return residency((path,)).share
    except ProbeError:
        return None


def _read(
    handle: int, status: os.stat_result, *, share: float | None, direct: bool, ahead: bool
) -> Generator[memoryview, None, None]:
    whole = range(status.st_size)
    if share is not None and share <= COLD_SHARE and not (direct and read_ahead_bytes(status.st_dev) < _ENOUGH_BYTES):
        _leave_direct(handle)
        return _read_behind(handle, whole)
    if direct:
        return _read_in_flight(handle, whole, depth=_IN_FLIGHT)
    return _read_in_flight(handle, whole, depth=2) if ahead else _read_cached(handle, whole)


def read_ahead_bytes(device: int, root: Sysroot | None = None) -> int:
    """Give the read-ahead of a mounted device by its st_dev; 0 where no kernel file tells it.

    Source: sysfs-class-bdi; a partition has its disk's setting.
    """
    root = root or Sysroot()
    number = f"{os.major(device)}:{os.minor(device)}"
    places = (f"sys/class/bdi/{number}", f"sys/dev/block/{number}/queue", f"sys/dev/block/{number}/../queue")
    found = (root.read_optional(f"{place}/read_ahead_kb") for place in places)
    text = next((text.strip() for text in found if text), "")
    return int(text) * 2**10 if text.isdecimal() else 0


def _leave_direct(handle: int) -> None:
    fcntl.fcntl(handle, fcntl.F_SETFL, fcntl.fcntl(handle, fcntl.F_GETFL) & ~O_DIRECT)


def _state(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns


def open_past_cache(path: Path, share: float | None, *, direct_flag: int = O_DIRECT) -> tuple[int, bool]:
    """Open a file past the page cache, unless it is cached (``share``) or that is refused; tells whether it is."""
    if direct_flag and (share is None or share < WARM_SHARE):
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


def _read_cached(handle: int, part: range) -> Generator[memoryview, None, None]:
    buffer = memoryview(bytearray(_CACHED_CHUNK_BYTES))
    for offset in part[::_CACHED_CHUNK_BYTES]:
        yield _read_piece(handle, buffer, offset, min(_CACHED_CHUNK_BYTES, part.stop - offset))


def _read_behind(handle: int, part: range) -> Generator[memoryview, None, None]:
    """Read through the page cache with the kernel's read-ahead, and drop what was read."""
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_SEQUENTIAL)
    dropped = part.start
    try:
        for piece in _read_cached(handle, part):
            yield piece
            dropped += len(piece)
            if dropped % _BEHIND_BYTES < len(piece):
                os.posix_fadvise(handle, dropped - _BEHIND_BYTES, _BEHIND_BYTES, os.POSIX_FADV_DONTNEED)
    finally:  # what read-ahead brought in beyond, and folios across pieces
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)


def _read_in_flight(handle: int, part: range, *, depth: int = _IN_FLIGHT) -> Generator[memoryview, None, None]:
    buffers = deque(memoryview(mmap.mmap(-1, _CHUNK_BYTES)) for _ in range(depth))  # page-aligned
    pending: deque[tuple[memoryview, Future[memoryview]]] = deque()
    offsets = iter(part[::_CHUNK_BYTES])
    pool = ThreadPoolExecutor(depth, thread_name_prefix="hash-read")
    try:
        while True:
            while buffers and (offset := next(offsets, None)) is not None:
                wanted = min(_CHUNK_BYTES, part.stop - offset)
                buffer = buffers.popleft()
                pending.append((buffer, pool.submit(_read_piece, handle, buffer, offset, wanted)))
            if not pending:
                return
            buffer, piece = pending.popleft()
            yield piece.result()
            buffers.append(buffer)
    finally:
        pool.shutdown(cancel_futures=True)


def _read_piece(handle: int, buffer: memoryview, offset: int, wanted: int) -> memoryview:
    """Fill the buffer from ``offset``: exactly ``wanted`` bytes have to be there, or the file is not what it was."""
    got = 0
    while got < wanted:
        count = os.preadv(handle, [buffer[got:]], offset + got)
        if count == 0:
            raise ProbeError("became shorter while it was read", fix="wait until the download is complete")
        got += count
    return buffer[:wanted]
