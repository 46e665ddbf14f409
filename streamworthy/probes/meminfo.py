"""Sizes in /proc/meminfo: ``Name:  N kB`` a line (Documentation/filesystems/proc.rst); kB there means 1024 bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from streamworthy.errors import ParseError

FILE = "proc/meminfo"
_LINE = re.compile(r"([^\s:]+):\s+([0-9]{1,18})( kB)?\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Meminfo:
    """The sizes of /proc/meminfo that matter here."""

    total_bytes: int
    free_bytes: int
    available_bytes: int | None  # None: Linux before 3.14
    page_cache_bytes: int  # Cached, which counts shared memory too
    anonymous_bytes: int | None  # None: not told, as for all that follow
    shared_bytes: int | None  # Shmem; None: Linux before 2.6.32
    huge_pages_bytes: int | None  # the pools of all sizes, before Linux 4.16 of the default size; None: no hugetlbfs
    balloon_bytes: int | None  # None: Linux before 6.16
    commit_limit_bytes: int | None
    committed_bytes: int | None


def parse_meminfo(text: str) -> Meminfo:
    """Read /proc/meminfo; ParseError when a size that every kernel writes is missing or not in kB."""
    available = _size(text, "MemAvailable")
    return Meminfo(
        total_bytes=_needed(text, "MemTotal"),
        free_bytes=_needed(text, "MemFree"),
        available_bytes=available,
        page_cache_bytes=_needed(text, "Cached"),
        anonymous_bytes=_told(text, "AnonPages"),
        shared_bytes=_told(text, "Shmem"),
        huge_pages_bytes=_huge_pages(text),
        balloon_bytes=_told(text, "Balloon"),
        commit_limit_bytes=_told(text, "CommitLimit"),
        committed_bytes=_told(text, "Committed_AS"),
    )


def _huge_pages(text: str) -> int | None:
    whole, each = _told(text, "Hugetlb"), _told(text, "Hugepagesize")
    count = re.search(r"^HugePages_Total:\s+([0-9]{1,12})\s*$", text, re.MULTILINE | re.ASCII)
    return whole if whole is not None or each is None or count is None else int(count[1]) * each


def _told(text: str, name: str) -> int | None:
    """Read what only explains: None also where it is no number of kB."""
    match = re.search(rf"^{name}:\s+([0-9]{{1,18}}) kB\s*$", text, re.MULTILINE | re.ASCII)
    return None if match is None else int(match[1]) * 2**10


def _needed(text: str, name: str) -> int:
    size = _size(text, name)
    if size is None:
        raise ParseError(name, where=f"/{FILE}", found="no such line", expected=f"'{name}: N kB'")
    return size


def _size(text: str, name: str) -> int | None:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith(f"{name}:"):
            continue
        match = _LINE.fullmatch(line)
        if match is None or match[3] is None:
            raise ParseError(name, where=f"/{FILE}", line=number, found=line, expected=f"'{name}: N kB'")
        return int(match[2]) * 2**10
    return None
