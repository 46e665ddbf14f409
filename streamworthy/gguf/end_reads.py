"""Reads the last byte of each extent of a file: where a drive cannot give a stretch back, its end is missing too.

Past the page cache (open(2), O_DIRECT), since what memory holds says nothing about the drive.
"""

from __future__ import annotations

import errno
import mmap
import os
import time
from typing import TYPE_CHECKING

from streamworthy.facts.shards import EndReads
from streamworthy.probes.extents import probe_extent_ends

if TYPE_CHECKING:
    from pathlib import Path

_BLOCK_BYTES = 4096  # the largest sector that disks have


def read_ends(path: Path, descriptor: int, deadline_seconds: float) -> EndReads:
    """Read the file's end, then the ends of its other extents until a moment of the monotonic clock.

    Ends at the first error, for a drive tries for seconds before it gives one. OSError when the file cannot be asked.
    """
    ends = probe_extent_ends(descriptor, os.fstat(descriptor).st_size)
    direct = _open_direct(path)
    read = 0
    try:
        with mmap.mmap(-1, _BLOCK_BYTES) as block:  # page-aligned, as O_DIRECT asks
            for end in reversed(ends):
                if read and time.monotonic() > deadline_seconds:
                    break
                error = _read_byte(descriptor, direct, end - 1, block)
                if error:
                    return EndReads(extents_count=len(ends), read_count=read, failed_byte=end - 1, error=error)
                read += 1
    finally:
        if direct is not None:
            os.close(direct)
    return EndReads(extents_count=len(ends), read_count=read, failed_byte=None, error="")


def _open_direct(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECT)
    except (OSError, AttributeError):  # the filesystem takes none, or this system has none
        return None


def _read_byte(descriptor: int, direct: int | None, offset: int, block: mmap.mmap) -> str:
    """Give the error's name; empty when the byte is there. A file that has shrunk has no error, and other gates."""
    try:
        if direct is not None:
            os.preadv(direct, [block], offset - offset % _BLOCK_BYTES)
            return ""
    except OSError as error:
        if error.errno != errno.EINVAL:  # refused only when read, as by some FUSE filesystems
            return errno.errorcode.get(error.errno or 0, str(error.errno))
    try:
        os.pread(descriptor, 1, offset)
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error.errno))
    return ""
