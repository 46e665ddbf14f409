"""How much of a set of files the page cache holds, asked without reading the files.

Three interfaces, each used where it tells the truth. cachestat(2), since Linux 6.5: exact and cheap, for owners and
writers; on overlayfs it looks at the wrong inode and always says 0 %. mincore(2): exact, for owners and writers; to
anyone else it says 100 % since Linux 5.1. preadv2(RWF_NOWAIT), since 4.14: a sample of pages, for everyone.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import random
from typing import TYPE_CHECKING

from streamworthy.errors import ProbeError
from streamworthy.facts.episode import Residency

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

_PAGE_BYTES = mmap.PAGESIZE
_NR_CACHESTAT = 451  # one number on all architectures that got it, asm-generic/unistd.h
_OVERLAYFS_MAGIC = 0x794C7630  # linux/magic.h
_STATFS_BYTES = 256  # more than struct statfs has on any architecture; f_type is its first word
_MINCORE_CHUNK_BYTES = 2**30
_NOWAIT_PROBES = 2_000  # each miss starts a read of about one page, so the sample has to stay small
_LINUX_ONLY = "run the performance gates on Linux"

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


def residency(paths: Sequence[Path], *, without: Collection[str] = ()) -> Residency:
    """Tell how much of the files is in the page cache; raises ProbeError when no interface can tell for one of them.

    ``without`` names interfaces that are not to be asked, as on a kernel that lacks them.
    """
    parts = [_file_residency(path, without) for path in paths]
    return Residency(
        resident_bytes=sum(part.resident_bytes for part in parts),
        total_bytes=sum(part.total_bytes for part in parts),
        method="+".join(dict.fromkeys(part.method for part in parts)),
    )


def _file_residency(path: Path, without: Collection[str]) -> Residency:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise ProbeError(f"{path}: cannot be opened to see its page cache: {error.strerror}") from error
    try:
        status = os.fstat(descriptor)
        size = status.st_size
        trusted = status.st_uid == os.geteuid() or os.access(path, os.W_OK)
        for method, ask in _methods(descriptor, trusted=trusted):
            resident = None if method in without else ask(descriptor, size)
            if resident is not None:
                return Residency(resident_bytes=min(resident, size), total_bytes=size, method=method)
    finally:
        os.close(descriptor)
    raise ProbeError(
        f"{path}: no interface of this kernel tells what the page cache holds of it (cachestat, mincore, RWF_NOWAIT)",
        fix="give the user who runs the suite write permission on the shards, or keep them on ext4 or xfs",
    )


def _methods(descriptor: int, *, trusted: bool) -> list[tuple[str, Callable[[int, int], int | None]]]:
    methods: list[tuple[str, Callable[[int, int], int | None]]] = []
    if trusted and not is_overlay(descriptor):
        methods.append(("cachestat", _ask_cachestat))
    if trusted:
        methods.append(("mincore", _ask_mincore))
    return [*methods, ("nowait sample", _ask_nowait)]


def is_overlay(descriptor: int) -> bool:
    """Tell whether an open file lies on overlayfs, where cachestat is blind."""
    buffer = ctypes.create_string_buffer(_STATFS_BYTES)
    if not hasattr(_libc, "fstatfs") or _libc.fstatfs(descriptor, buffer) != 0:
        return False
    return bool(ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ulong))[0] == _OVERLAYFS_MAGIC)


def _ask_cachestat(descriptor: int, size: int) -> int | None:
    span, found = _Range(0, size), _Cachestat()
    arguments = (ctypes.c_uint(descriptor), ctypes.byref(span), ctypes.byref(found), ctypes.c_uint(0))
    if not hasattr(os, "posix_fadvise") or _libc.syscall(ctypes.c_long(_NR_CACHESTAT), *arguments) != 0:
        return None
    return int(found.nr_cache) * _PAGE_BYTES


def _ask_mincore(descriptor: int, size: int) -> int | None:
    _libc.mmap.restype = ctypes.c_void_p
    _libc.mmap.argtypes = (
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int64,
    )
    resident = 0
    for offset in range(0, size, _MINCORE_CHUNK_BYTES):
        length = min(_MINCORE_CHUNK_BYTES, size - offset)
        address = _libc.mmap(None, length, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, offset)
        if address == ctypes.c_void_p(-1).value:
            return None
        vector = ctypes.create_string_buffer(-(-length // _PAGE_BYTES))
        failed = _libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(length), vector) != 0
        _libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(length))
        if failed:
            return None
        resident += sum(vector.raw.count(value) for value in range(1, 256, 2))  # only bit 0 is defined
    return resident * _PAGE_BYTES


def _ask_nowait(descriptor: int, size: int) -> int | None:
    if not hasattr(os, "RWF_NOWAIT"):
        return None
    pages = -(-size // _PAGE_BYTES)
    probes = random.Random(size).sample(range(pages), min(pages, _NOWAIT_PROBES))  # noqa: S311
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)  # or each miss reads a whole read-ahead window
    buffer, hits = bytearray(1), 0
    for page in probes:
        try:
            hits += os.preadv(descriptor, [buffer], page * _PAGE_BYTES, os.RWF_NOWAIT)
        except BlockingIOError:
            continue
        except OSError as error:
            if error.errno == errno.EOPNOTSUPP:  # overlayfs, squashfs, erofs, FUSE
                return None
            raise ProbeError(f"page cache probe: read refused: {error.strerror}") from error
    return round(size * hits / len(probes)) if pages else 0
