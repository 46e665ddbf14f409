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


def parse_meminfo(text: str) -> Meminfo:
    """Read /proc/meminfo; ParseError when a size that every kernel writes is missing or not in kB."""
    available = _size(text, "MemAvailable")
    return Meminfo(
        total_bytes=_needed(text, "MemTotal"),
        free_bytes=_needed(text, "MemFree"),
        available_bytes=available,
        page_cache_bytes=_needed(text, "Cached"),
    )


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
