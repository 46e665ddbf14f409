"""What others make of the model's disks: /proc/diskstats over a short while, and who it is by /proc/PID/io.

Sources: Documentation/admin-guide/iostats.rst (field 13: milliseconds with a request in flight), proc(5).
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamworthy.errors import ProbeError
from streamworthy.facts.conditions import ActivityFacts, DiskActivity
from streamworthy.units import format_rate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from streamworthy.probes.sysroot import Sysroot

WINDOW_SECONDS = 0.5  # in which 5 % are a few requests of a slow disk
_NAMED_BYTES_PER_SECOND = 2**20
_NAMED_COUNT = 3
_SECTOR_BYTES = 512
_LINE = re.compile(r"^ *[0-9]+ +[0-9]+ (\S+)((?: [0-9]{1,20}){11,})", re.MULTILINE | re.ASCII)
_BYTES = re.compile(r"^(?:read|write)_bytes: ([0-9]{1,20})$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskCounters:
    """One line of diskstats."""

    read_bytes: int
    written_bytes: int
    busy_milliseconds: int


def parse_diskstats(text: str) -> dict[str, DiskCounters]:
    """Read counters by the disk's name; lines of another form are left out."""
    found = {}
    for name, numbers in _LINE.findall(text):
        fields = [int(number) for number in numbers.split()]
        found[name] = DiskCounters(
            read_bytes=fields[2] * _SECTOR_BYTES,
            written_bytes=fields[6] * _SECTOR_BYTES,
            busy_milliseconds=fields[9],
        )
    return found


def watch_disks(root: Sysroot, names: Sequence[str], *, window_seconds: float = WINDOW_SECONDS) -> ActivityFacts:
    """Watch disks, by their names in diskstats, while nothing of ours uses them; waits for the window's length."""
    if not root.live:
        return _unseen("a captured machine's disks cannot be watched")
    if not names:
        return _unseen("no block device of the model is known, so none can be watched")
    text = root.read_optional("proc/diskstats")
    if text is None:
        return _unseen("this kernel has no /proc/diskstats")
    before, moved_before, start = parse_diskstats(text), _moved_bytes(root), time.monotonic()
    time.sleep(window_seconds)
    after, moved_after = parse_diskstats(root.read_text("proc/diskstats")), _moved_bytes(root)
    elapsed = time.monotonic() - start
    missing = [name for name in names if name not in before or name not in after]
    if missing:
        return _unseen(f"/proc/diskstats does not count {', '.join(missing)}")
    disks = tuple(_difference(name, before[name], after[name], elapsed) for name in names)
    return ActivityFacts(disks=disks, users=_users(root, moved_before, moved_after, elapsed), unseen="")


def _unseen(reason: str) -> ActivityFacts:
    return ActivityFacts(disks=(), users=(), unseen=reason)


def _difference(name: str, before: DiskCounters, after: DiskCounters, elapsed: float) -> DiskActivity:
    return DiskActivity(
        name=name,
        busy_share=min(1.0, (after.busy_milliseconds - before.busy_milliseconds) / 1000 / elapsed),
        read_bytes_per_second=(after.read_bytes - before.read_bytes) / elapsed,
        written_bytes_per_second=(after.written_bytes - before.written_bytes) / elapsed,
    )


def _moved_bytes(root: Sysroot) -> dict[int, int]:
    counts = {}
    for name in root.names("proc"):
        if not name.isdigit():
            continue
        try:
            counts[int(name)] = sum(int(count) for count in _BYTES.findall(root.read_text(f"proc/{name}/io")))
        except ProbeError:  # it has ended, or is another user's
            continue
    return counts


def _users(root: Sysroot, before: Mapping[int, int], after: Mapping[int, int], elapsed: float) -> tuple[str, ...]:
    rates = {pid: (count - before.get(pid, count)) / elapsed for pid, count in after.items()}
    first = sorted(rates, key=lambda pid: -rates[pid])[:_NAMED_COUNT]
    return tuple(
        f"{_name(root, pid)} (pid {pid}), {format_rate(rates[pid])}"
        for pid in first
        if rates[pid] >= _NAMED_BYTES_PER_SECOND
    )


def _name(root: Sysroot, pid: int) -> str:
    try:
        return root.read_text(f"proc/{pid}/comm").strip()
    except ProbeError:
        return "a process that has ended"
