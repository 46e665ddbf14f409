"""What the kernel counts of machine and engine, at one moment: records, and parsers of the texts that they come from.

Sources: Documentation/accounting/psi.rst (since Linux 4.20), Documentation/block/stat.rst, proc(5) for /proc/PID/io,
/proc/PID/stat and /proc/PID/status, and /proc/vmstat: workingset_refault_file since 5.9, workingset_refault before.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamworthy.errors import ParseError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamworthy.bench.cpu_load import CpuSnapshot

_SECTOR_BYTES = 512  # of the kernel's counters, whatever the device's own sector size
_STALLED = re.compile(r"^(some|full) .*\btotal=([0-9]{1,20})$", re.MULTILINE)  # microseconds
_PAGES = re.compile(r"^(workingset_refault(?:_file)?|pswpin) ([0-9]{1,20})$", re.MULTILINE)
_KIBIBYTES = re.compile(r"^(RssAnon|VmSwap):\s+([0-9]{1,20}) kB$", re.MULTILINE)
_NUMBERS = re.compile(r"\s*[0-9]{1,20}(?:\s+[0-9]{1,20}){10,}\s*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskStat:
    """One block device since it appeared; the times are kept in 32 bits and begin anew after 49 days."""

    read_bytes: int
    busy_milliseconds: int  # with a request in flight
    queue_milliseconds: int  # of all requests together


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineUse:
    """What the engine's process used since it began. None: cannot be read."""

    read_bytes: int | None
    ticks: int | None
    major_faults: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """What is too dear to be read five times a second: read at the ends of a stretch."""

    pid: int | None  # None: the engine has not begun
    anonymous_bytes: int | None
    swapped_bytes: int | None
    throttle_count: int | None
    allowed_cores: float | None
    cpu: CpuSnapshot | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Counters at one moment. None: not told by this kernel or machine, or not to this user."""

    moment_seconds: float  # CLOCK_MONOTONIC
    io_some_seconds: float | None
    io_full_seconds: float | None
    memory_full_seconds: float | None
    cpu_some_seconds: float | None
    disks: Mapping[str, DiskStat] | None
    engine: EngineUse
    refaulted_pages: int | None
    swapped_in_pages: int | None
    clock_share: float | None  # None also at the ends of a stretch, where the engine idles and the clock may be low
    device_celsius: float | None  # None also where it was not asked: a drive answers between its reads
    cpu_celsius: float | None
    census: Census | None  # None: not the end of a stretch


def parse_stalled(text: str) -> dict[str, float]:
    """Read the seconds since boot in which "some" or "full" of the tasks waited; lines of another form are left out."""
    return {name: int(total) / 1e6 for name, total in _STALLED.findall(text)}


def parse_disk_stat(text: str) -> DiskStat:
    """Read a block device's ``stat``; ParseError when it has fewer than eleven numbers."""
    if _NUMBERS.fullmatch(text) is None:
        raise ParseError("counters of a disk", where="/sys/class/block/*/stat", found=text[:40], expected="11 numbers")
    fields = [int(field) for field in text.split()]
    return DiskStat(read_bytes=fields[2] * _SECTOR_BYTES, busy_milliseconds=fields[9], queue_milliseconds=fields[10])


def parse_paging(text: str) -> tuple[int | None, int | None]:
    """Read refaulted and swapped-in pages of /proc/vmstat; None for what the kernel does not count."""
    pages = {name: int(count) for name, count in _PAGES.findall(text)}
    return pages.get("workingset_refault_file", pages.get("workingset_refault")), pages.get("pswpin")


def parse_anonymous(text: str) -> tuple[int | None, int | None]:
    """Read RssAnon (since 4.5) and VmSwap of /proc/PID/status, in bytes; None for a line that is missing."""
    sizes = {name: int(count) * 1024 for name, count in _KIBIBYTES.findall(text)}
    return sizes.get("RssAnon"), sizes.get("VmSwap")
