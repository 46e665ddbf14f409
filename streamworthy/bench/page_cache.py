"""What the page cache holds of ranges of an open file: three kernel interfaces, each used where it tells the truth.

cachestat(2), Linux 6.5: exact, about a microsecond a range; refused to who neither owns nor may write the file; blind
on overlayfs. mincore(2): exact, 11 to 18 ms a GiB whatever is resident; tells the same strangers that all is resident
(since 5.1). preadv2(RWF_NOWAIT), 4.14: a sample of pages, for everyone; each miss makes the kernel read that page.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import random
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamworthy.errors import ProbeError
from streamworthy.facts.cache import RangeResidency

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from pathlib import Path

    _Ask = Callable[[int, Sequence["Span"]], list[RangeResidency] | None]

PAGE_BYTES = mmap.PAGESIZE
METHODS = ("cachestat", "mincore", "nowait sample")
_NR_CACHESTAT = 451  # one number on all architectures that got it, asm-generic/unistd.h
# overlayfs, squashfs, erofs, FUSE; a filter of system calls; a kernel before 4.14
_NO_NOWAIT = (errno.EOPNOTSUPP, errno.EPERM, errno.ENOSYS)
_FUSE_MAGIC, _OVERLAYFS_MAGIC = 0x65735546, 0x794C7630  # linux/magic.h
_STATFS_BYTES = 256  # more than struct statfs has on any architecture; f_type is its first word
_MINCORE_CHUNK_BYTES = 2**30
_LEAST_SIGNIFICANT = bytes(value & 1 for value in range(256))  # only bit 0 of a mincore byte is defined

_libc = ctypes.CDLL(None, use_errno=True)


class _Range(ctypes.Structure):  # struct cachestat_range
    _fields_ = (("off", ctypes.c_uint64), ("len", ctypes.c_uint64))


class _Cachestat(ctypes.Structure):  # struct cachestat, in pages
    _fields_ = (
        ("nr_cache", ctypes.c_uint64),
        ("nr_dirty", ctypes.c_uint64),
        ("nr_writeback", ctypes.c_uint64),
        ("nr_evicted", ctypes.c_uint64),
        ("nr_recently_evicted", ctypes.c_uint64),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A range of a file; ``probes_count`` is how many of its pages a sample looks at."""

    offset_bytes: int
    size_bytes: int
    probes_count: int

    @property
    def pages(self) -> range:
        """The pages that it touches, by number."""
        return range(self.offset_bytes // PAGE_BYTES, -(-(self.offset_bytes + self.size_bytes) // PAGE_BYTES))


@contextmanager
def open_shard(path: Path) -> Iterator[int]:
    """Open a file to be asked about or read; ProbeError when that is refused."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise ProbeError(f"{path}: cannot be opened: {error.strerror}", fix=f"ls -l '{path}'") from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def ask_ranges(
    descriptor: int, path: Path, spans: Sequence[Span], *, without: Collection[str] = ()
) -> tuple[str, tuple[RangeResidency, ...]]:
    """Tell the residency of each span of an open file, and by which interface.

    ``without`` names interfaces that are not to be asked. ProbeError when none can tell.
    """
    for method, ask in _methods(descriptor, path):
        found = None if method in without else ask(descriptor, spans)
        if found is not None:
            return method, tuple(found)
    raise ProbeError(
        f"{path}: no interface of this kernel tells what the page cache holds of it ({', '.join(METHODS)})",
        fix="give the user who asks write permission on the shards, or keep them on ext4 or xfs",
    )


def _methods(descriptor: int, path: Path) -> list[tuple[str, _Ask]]:
    sample = (METHODS[2], _ask_nowait)
    if not is_trusted(descriptor, path):
        return [sample]
    exact: list[tuple[str, _Ask]] = [(METHODS[1], _ask_mincore), sample]
    return exact if is_overlay(descriptor) else [(METHODS[0], _ask_cachestat), *exact]


def _share(span: Span, resident_pages: int, evicted_pages: int | None) -> RangeResidency:
    """Turn pages into bytes of the span: a page at its edge belongs to it in part."""
    pages = max(1, len(span.pages))
    return RangeResidency(
        resident_bytes=span.size_bytes * min(pages, resident_pages) // pages,
        total_bytes=span.size_bytes,
        evicted_bytes=None if evicted_pages is None else span.size_bytes * min(pages, evicted_pages) // pages,
    )


def _ask_cachestat(descriptor: int, spans: Sequence[Span]) -> list[RangeResidency] | None:
    if not hasattr(os, "posix_fadvise"):  # Linux has it; elsewhere the number is another call's
        return None
    found, answer = [], _Cachestat()
    for span in spans:
        asked = _Range(span.offset_bytes, span.size_bytes)
        arguments = (ctypes.c_uint(descriptor), ctypes.byref(asked), ctypes.byref(answer), ctypes.c_uint(0))
        if not span.size_bytes:  # a length of 0 means to the end of the file
            found.append(_share(span, 0, 0))
            continue
        if _libc.syscall(ctypes.c_long(_NR_CACHESTAT), *arguments) != 0:
            return None
        found.append(_share(span, answer.nr_cache, answer.nr_recently_evicted))
    return found


def _ask_mincore(descriptor: int, spans: Sequence[Span]) -> list[RangeResidency] | None:
    resident = resident_pages(descriptor, os.fstat(descriptor).st_size)
    if resident is None:
        return None
    return [_share(span, resident.count(1, span.pages.start, span.pages.stop), None) for span in spans]


def is_fuse(path: Path) -> bool:
    """Tell whether a file lies on FUSE, most of which drop a file's pages whenever it is opened.

    O_PATH does not open it in that sense.
    """
    if not hasattr(os, "O_PATH"):
        return False
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        return _magic(descriptor) == _FUSE_MAGIC
    finally:
        os.close(descriptor)


def is_overlay(descriptor: int) -> bool:
    """Tell whether an open file lies on overlayfs, where cachestat is blind."""
    return _magic(descriptor) == _OVERLAYFS_MAGIC


def _magic(descriptor: int) -> int | None:
    """Give the type of a file's filesystem; None where fstatfs does not tell."""
    buffer = ctypes.create_string_buffer(_STATFS_BYTES)
    if not hasattr(_libc, "fstatfs") or _libc.fstatfs(descriptor, buffer) != 0:
        return None
    return int(ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ulong))[0])


def is_trusted(descriptor: int, path: Path) -> bool:
    """Tell whether this user is told the truth about a file's pages: its owner is, and who may write it."""
    return _is_owner(descriptor) or os.access(path, os.W_OK)


def _is_owner(descriptor: int) -> bool:
    """Ask the kernel, by a right that owners have (O_NOATIME, fcntl(2)): it asks itself the same before it answers.

    Numbers do not tell: in a user namespace every foreign owner, and a user without a place in it, is 65534.
    """
    if not hasattr(os, "O_NOATIME"):
        return os.fstat(descriptor).st_uid == os.geteuid()
    flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETFL, flags | os.O_NOATIME)
    except PermissionError:
        return False
    fcntl.fcntl(descriptor, fcntl.F_SETFL, flags)
    return True


def resident_pages(descriptor: int, size: int) -> bytes | None:
    """Give a byte for each page of a file's first bytes: 1 if it is resident. None when it cannot be mapped.

    By mincore(2), which tells the truth to ``is_trusted`` users alone.
    """
    parts = []
    for offset in range(0, size, _MINCORE_CHUNK_BYTES):
        length = min(_MINCORE_CHUNK_BYTES, size - offset)
        address = map_range(descriptor, offset, length)
        if address is None:
            return None
        vector = ctypes.create_string_buffer(-(-length // PAGE_BYTES))
        failed = _libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(length), vector) != 0
        unmap_range(address, length)
        if failed:
            return None
        parts.append(vector.raw.translate(_LEAST_SIGNIFICANT))
    return b"".join(parts)


def map_range(descriptor: int, offset: int, length: int) -> int | None:
    """Map a range of a file to be read, shared as the engine maps it; its address, or None when that fails.

    ``offset`` is a multiple of the page size. Python's mmap gives no address of a read-only map.
    """
    _libc.mmap.restype = ctypes.c_void_p
    _libc.mmap.argtypes = (
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int64,
    )
    address = _libc.mmap(None, length, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, offset)
    return None if address == ctypes.c_void_p(-1).value else int(address)


def unmap_range(address: int, length: int) -> None:
    """Take a map away, and its lock with it."""
    _libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(length))


def lock_range(address: int, length: int) -> int:
    """Read a mapped range into memory and keep it there (mlock(2)); 0, or the errno."""
    if _libc.mlock(ctypes.c_void_p(address), ctypes.c_size_t(length)) == 0:
        return 0
    return ctypes.get_errno()


def _ask_nowait(descriptor: int, spans: Sequence[Span]) -> list[RangeResidency] | None:
    if not hasattr(os, "RWF_NOWAIT"):
        return None
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)  # or each miss reads a whole read-ahead window
    found = []
    for span in spans:
        hits = _count_hits(descriptor, span)
        if hits is None:
            return None
        found.append(hits)
    return found


def _count_hits(descriptor: int, span: Span) -> RangeResidency | None:
    count = min(len(span.pages), max(1, span.probes_count)) if span.size_bytes else 0
    buffer, hits = bytearray(1), 0
    for page in random.Random(span.offset_bytes).sample(span.pages, count):  # noqa: S311 - a sample, no secret
        try:
            hits += os.preadv(descriptor, [buffer], page * PAGE_BYTES, os.RWF_NOWAIT)
        except BlockingIOError:
            continue
        except OSError as error:
            if error.errno in _NO_NOWAIT:
                return None
            raise ProbeError(f"page cache probe: read refused: {error.strerror}") from error
    return RangeResidency(
        resident_bytes=span.size_bytes * hits // max(1, count), total_bytes=span.size_bytes, evicted_bytes=None
    )
