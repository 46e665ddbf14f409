"""The engine child's view of itself: where the shards are mapped, what is anonymous, what is locked.

Sources: /proc/self/maps, /proc/self/smaps (VmFlags since Linux 3.8) and /proc/self/status (RssAnon and RssFile since
4.5), madvise(2), mlock(2).
"""

from __future__ import annotations

import ctypes
import mmap
import os
import re
from typing import TYPE_CHECKING

from streamworthy.errors import EngineError, ParseError
from streamworthy.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from streamworthy.probes.sysroot import Sysroot

_MADV_NORMAL, _MADV_RANDOM, _MADV_DONTNEED = 0, 1, 4  # asm-generic/mman-common.h
# FIRST-END PERMISSIONS OFFSET MAJOR:MINOR INODE PATH, proc_pid_maps(5); of all line ends only newline is escaped
_AREA = re.compile(
    r"^([0-9a-f]{1,16})-([0-9a-f]{1,16}) \S{4} \S+ \S+ ([0-9]{1,20}) +([^\n]+)$", re.MULTILINE | re.ASCII
)
_SECTION = re.compile(
    r"^(?=[0-9a-f]{1,16}-[0-9a-f]{1,16} )", re.MULTILINE
)  # of smaps: a line of maps, and what is in it
_RANDOM = re.compile(r"^VmFlags:.* rr\b", re.MULTILINE)  # madvise(2), MADV_RANDOM
_libc = ctypes.CDLL(None, use_errno=True)


def parse_maps(text: str, inodes: set[int], names: set[str]) -> list[tuple[int, int]]:
    """Find the memory areas over files: (first address, bytes) of each line whose inode and file name are wanted."""
    return [
        (int(first, 16), int(end, 16) - int(first, 16))
        for first, end, inode, path in _AREA.findall(text)
        if int(inode) in inodes and path.rsplit("/", 1)[-1] in names
    ]


def parse_random(text: str, inodes: set[int], names: set[str]) -> int | None:
    """Add up the wanted files' areas that are marked as read at random; None where the kernel tells no flags."""
    if "VmFlags:" not in text:
        return None
    marked = [section for section in _SECTION.split(text) if _RANDOM.search(section)]
    return sum(size for section in marked for _, size in parse_maps(section, inodes, names))


def shard_areas(root: Sysroot, paths: Sequence[Path]) -> list[tuple[int, int]]:
    """Give this process's memory areas over the shards."""
    return parse_maps(root.read_text("proc/self/maps"), *_wanted(paths))


def random_bytes(root: Sysroot, paths: Sequence[Path]) -> int | None:
    """Give the size of this process's areas over the shards that are marked as read at random; None: not told.

    Slower than shard_areas by the pages that are mapped: about 20 ms for each GB.
    """
    text = root.read_optional("proc/self/smaps")
    return None if text is None else parse_random(text, *_wanted(paths))


def _wanted(paths: Sequence[Path]) -> tuple[set[int], set[str]]:
    real = [path.resolve() for path in paths]
    return {path.stat().st_ino for path in real}, {path.name for path in real}


def parse_status(text: str) -> dict[str, int]:
    """Read RssAnon, RssFile and VmLck, in bytes; ParseError where one is missing."""
    found = {name: int(kib) * 1024 for name, kib in re.findall(r"^(\w+):\s+(\d+) kB$", text, re.MULTILINE)}
    for name in ("RssAnon", "RssFile", "VmLck"):
        if name not in found:
            raise ParseError(
                name, where="/proc/self/status", found="no such line", expected=f"{name}: N kB (Linux 4.5)"
            )
    return {name: found[name] for name in ("RssAnon", "RssFile", "VmLck")}


def drop_areas(areas: Sequence[tuple[int, int]]) -> None:
    """Give back the pages behind mapped shards; they are read again when touched. EngineError where they are locked."""
    for first, size in areas:
        if _libc.madvise(ctypes.c_void_p(first), ctypes.c_size_t(size), _MADV_DONTNEED) != 0:
            reason = os.strerror(ctypes.get_errno())
            raise EngineError(
                f"engine: the maps of the shards cannot be dropped: {reason} (locked in memory?)",
                fix='a tier that locks the weights cannot ask for a cold rate: level = "not_applicable"',
            )


def advise_areas(areas: Sequence[tuple[int, int]], *, random: bool) -> None:
    """Read the pages behind mapped shards one by one, or with the kernel's read-ahead; it is a hint and may do nothing.

    A map's own sequential flag is gone afterwards; the read-ahead window of the file, which llama.cpp doubles, stays.
    """
    for first, size in areas:
        _libc.madvise(ctypes.c_void_p(first), ctypes.c_size_t(size), _MADV_RANDOM if random else _MADV_NORMAL)


def lock_region(size: int) -> mmap.mmap:
    """Lock an anonymous region into memory; EngineError with the limit when the kernel refuses."""
    import resource

    region = mmap.mmap(-1, size)
    view = (ctypes.c_char * size).from_buffer(region)
    if _libc.mlock(ctypes.c_void_p(ctypes.addressof(view)), ctypes.c_size_t(size)) != 0:
        reason = os.strerror(ctypes.get_errno())
        soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
        limit = "unlimited" if soft == resource.RLIM_INFINITY else format_bytes(soft)
        raise EngineError(
            f"engine: {format_bytes(size)} cannot be locked in memory: {reason} (limit {limit})",
            fix="raise 'memlock' for this user in /etc/security/limits.conf, or LimitMEMLOCK of the service",
        )
    return region
