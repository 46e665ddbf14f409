"""What a filesystem says of a file extent by extent: whether it is compressed, and where each extent ends.

Source: FIEMAP, Documentation/filesystems/fiemap.rst, since Linux 2.6.28; btrfs and f2fs mark compressed extents as
encoded. ZFS, overlay and FUSE do not answer.
"""

from __future__ import annotations

import fcntl
import os
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_FS_IOC_FIEMAP = 0xC020660B  # _IOWR('f', 11, struct fiemap)
_HEAD = struct.Struct("=QQLLLL")  # fm_start fm_length fm_flags fm_mapped_extents fm_extent_count fm_reserved
_EXTENT = struct.Struct("=QQQ16xL12x")  # fe_logical fe_physical fe_length fe_reserved64[2] fe_flags fe_reserved[3]
_LAST, _ENCODED, _UNWRITTEN = 0x1, 0x8, 0x800
_BATCH_COUNT = 256


def probe_encoded(paths: Iterable[str]) -> tuple[str, ...] | None:
    """Name the files that have a compressed extent; None when the filesystem cannot say or a file cannot be read."""
    try:
        return tuple(path for path in paths if _has_encoded_extent(path))
    except OSError:
        return None


def _has_encoded_extent(path: str) -> bool:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return any(flags & _ENCODED for _, _, _, flags in _all_extents(descriptor))
    finally:
        os.close(descriptor)


def probe_extent_ends(descriptor: int, size_bytes: int) -> tuple[int, ...]:
    """Give the offset behind each written extent, within the file; its size alone where extents are not told."""
    try:
        written = [extent for extent in _all_extents(descriptor) if not extent[3] & _UNWRITTEN]
    except OSError:
        written = []
    ends = {min(size_bytes, start + length) for start, _, length, _ in written}
    return tuple(sorted(ends - {0})) or ((size_bytes,) if size_bytes else ())


def _all_extents(descriptor: int) -> Iterator[tuple[int, ...]]:
    start, flags = 0, 0
    while not flags & _LAST:
        extents = _extents(descriptor, start)
        if not extents:
            return
        yield from extents
        start, flags = extents[-1][0] + extents[-1][2], extents[-1][3]


def _extents(descriptor: int, start: int) -> list[tuple[int, ...]]:
    buffer = bytearray(_HEAD.size + _BATCH_COUNT * _EXTENT.size)
    _HEAD.pack_into(buffer, 0, start, 2**63 - 1 - start, 0, 0, _BATCH_COUNT, 0)
    fcntl.ioctl(descriptor, _FS_IOC_FIEMAP, buffer)
    mapped = _HEAD.unpack_from(buffer)[3]
    return [_EXTENT.unpack_from(buffer, _HEAD.size + index * _EXTENT.size) for index in range(mapped)]
