"""Who else uses the model's files or their device: a number taken beside another reader is not this machine's.

Sources: /proc/PID/maps, /proc/PID/io (read_bytes: what a process made the device fetch), /proc/diskstats
(Documentation/admin-guide/iostats.rst), hidepid in proc(5).
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from streamworthy.errors import ParseError, ProbeError
from streamworthy.facts.episode import Disturbers
from streamworthy.units import format_rate

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from streamworthy.probes.sysroot import Sysroot

WINDOW_SECONDS = 0.3
DISTURBING_BYTES_PER_SECOND = 16 * 2**20  # 0.5 % of an NVMe drive; a log or a browser stays below
_SECTOR_BYTES = 512  # of diskstats, whatever the device's own sector size
_READ_BYTES = re.compile(r"^read_bytes: ([0-9]{1,20})$", re.MULTILINE)
# a line of maps, FIRST-END PERMISSIONS OFFSET MAJOR:MINOR INODE PATH, and one of diskstats, MAJOR MINOR NAME
# READS MERGED SECTORS ...
_AREA = re.compile(r"\S+ \S+ \S+ ([0-9a-f]{1,8}):([0-9a-f]{1,8}) ([0-9]{1,20}) +(.+)", re.ASCII | re.DOTALL)
_DISK = re.compile(r"^ *[0-9]+ +[0-9]+ (\S+) [0-9]+ [0-9]+ ([0-9]{1,20}) ", re.MULTILINE | re.ASCII)


def find_disturbers(
    root: Sysroot,
    paths: Sequence[Path],
    *,
    devices: Sequence[str],
    own: Collection[int],
    window_seconds: float = WINDOW_SECONDS,
) -> Disturbers:
    """Look for processes that map the files or make their devices read, over a short window.

    ``devices`` are block devices as named in diskstats; without them every reading process counts. ``own`` are
    process ids of this suite. What the kernel hides from this user is said in ``hidden``.
    """
    mapping, closed = find_mappers(root, paths, own=own)
    reading = _find_readers(root, devices, own, window_seconds)
    return Disturbers(mapping=mapping, reading=reading, hidden=_hidden(root, closed))


def find_mappers(root: Sysroot, paths: Sequence[Path], *, own: Collection[int] = ()) -> tuple[tuple[str, ...], int]:
    """Name the processes that map one of the files, and count those whose maps are closed to this user."""
    wanted = {path.stat().st_ino: str(path.resolve()) for path in paths}
    identities = {(os.major(s.st_dev), os.minor(s.st_dev), s.st_ino) for s in (path.stat() for path in paths)}
    found, closed = [], 0
    for pid in _process_ids(root, own):
        try:
            text = root.read_text(f"proc/{pid}/maps")
        except ProbeError:
            closed += root.exists(f"proc/{pid}")
            continue
        if any(_is_mapping(line, identities, wanted) for line in text.split("\n")):
            found.append(_name(root, pid))
    return tuple(found), closed


def _is_mapping(line: str, identities: set[tuple[int, int, int]], wanted: Mapping[int, str]) -> bool:
    # the device is another one on btrfs subvolumes, so the path counts too
    area = _AREA.fullmatch(line)
    if area is None or int(area[3]) not in wanted:
        return False
    return (int(area[1], 16), int(area[2], 16), int(area[3])) in identities or area[4] == wanted[int(area[3])]


def _find_readers(
    root: Sysroot, devices: Sequence[str], own: Collection[int], window_seconds: float
) -> tuple[str, ...]:
    before, device_before = _read_bytes(root, own), device_read_bytes(root, devices)
    started = time.monotonic()
    time.sleep(window_seconds)
    after, device_after = _read_bytes(root, own), device_read_bytes(root, devices)
    elapsed = time.monotonic() - started
    device_rate = None if device_before is None or device_after is None else (device_after - device_before) / elapsed
    if device_rate is not None and device_rate < DISTURBING_BYTES_PER_SECOND:
        return ()
    rates = {pid: (count - before.get(pid, count)) / elapsed for pid, count in after.items()}
    busy = sorted(
        (pid for pid, rate in rates.items() if rate >= DISTURBING_BYTES_PER_SECOND), key=lambda pid: -rates[pid]
    )
    if busy:
        return tuple(f"{_name(root, pid)}, {format_rate(rates[pid])}" for pid in busy)
    return () if device_rate is None else (f"an unseen reader of {', '.join(devices)}, {format_rate(device_rate)}",)


def _read_bytes(root: Sysroot, own: Collection[int]) -> dict[int, int]:
    counts = {}
    for pid in _process_ids(root, own):
        with suppress(ProbeError):
            counts[pid] = process_read_bytes(root, pid)
    return counts


def process_read_bytes(root: Sysroot, pid: int) -> int:
    """Give the bytes that a process made devices read; ProbeError when it is gone or another user's."""
    return parse_read_bytes(root.read_text(f"proc/{pid}/io"), where=f"/proc/{pid}/io")


def parse_read_bytes(text: str, *, where: str) -> int:
    """Read what a process made devices read; ParseError when there is no such line."""
    match = _READ_BYTES.search(text)
    if match is None:
        raise ParseError("read_bytes", where=where, found=text[:40], expected="read_bytes: N")
    return int(match[1])


def device_read_bytes(root: Sysroot, devices: Sequence[str]) -> int | None:
    """Sum what the devices have read since boot; None when none is named or one is not in diskstats."""
    text = root.read_optional("proc/diskstats")
    if not devices or text is None:
        return None
    sectors = {name: int(count) for name, count in _DISK.findall(text)}
    return sum(sectors[name] for name in devices) * _SECTOR_BYTES if set(devices) <= set(sectors) else None


def _process_ids(root: Sysroot, own: Collection[int]) -> list[int]:
    mine = {os.getpid(), *own}
    return [int(name) for name in root.names("proc") if name.isdecimal() and int(name) not in mine]


def _name(root: Sysroot, pid: int) -> str:
    try:
        name = root.read_text(f"proc/{pid}/comm").strip()
    except ProbeError:
        name = "a process that has ended"
    return f"{name} (pid {pid})"


def _hidden(root: Sysroot, closed: int) -> str:
    mounts = root.read_optional("proc/self/mountinfo") or ""
    options = next((line for line in mounts.split("\n") if line.split(" ")[4:5] == ["/proc"]), "")
    if re.search(r"hidepid=(2|invisible|4|ptraceable)", options):
        return "/proc is mounted with hidepid: processes of other users are not seen"
    return f"{closed} processes of other users cannot be looked into" if closed else ""
