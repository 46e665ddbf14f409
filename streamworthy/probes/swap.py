"""Swap devices and what lies under them: /proc/swaps, /proc/sys/vm/swappiness.

/proc/swaps has a heading, then ``Filename Type Size Used Priority``: sizes in KiB, blanks in names as octal escapes
(mm/swapfile.c, proc(5)).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from streamworthy.errors import ParseError, ProbeError
from streamworthy.facts.memory import SwapDevice, SwapFacts
from streamworthy.probes.block import leaves_of
from streamworthy.probes.cgroup import probe_group_swappiness
from streamworthy.probes.device_numbers import device_of_name, devices_of_mount
from streamworthy.probes.host import is_wsl
from streamworthy.probes.mountinfo import probe_mount_of, probe_mounts, unescape

if TYPE_CHECKING:
    from streamworthy.facts.storage import BlockLeaf
    from streamworthy.probes.sysroot import Sysroot

_SWAPS = "proc/swaps"
_SWAPPINESS = "proc/sys/vm/swappiness"
_LINE = re.compile(
    r"([^ \t]+)\s+(partition|file|virtual)\s+([0-9]{1,15})\s+([0-9]{1,15})\s+(-?[0-9]{1,9})\s*", re.ASCII
)
_DELETED = " (deleted)"


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapLine:
    """One line of /proc/swaps."""

    path: str
    kind: str  # "partition" or "file"; "virtual" from LXCFS
    size_bytes: int
    used_bytes: int
    priority: int


def parse_swaps(text: str) -> tuple[SwapLine, ...]:
    """Read /proc/swaps; empty when there is no swap."""
    lines = text.split("\n")  # not splitlines(): the kernel escapes no line end but newline in a swap file's name
    if text and not lines[0].startswith("Filename"):
        raise ParseError("swap", where=f"/{_SWAPS}", line=1, found=lines[0], expected="the heading 'Filename Type ...'")
    return tuple(_parse_line(line, number) for number, line in enumerate(lines[1:], 2) if line.strip())


def _parse_line(line: str, number: int) -> SwapLine:
    match = _LINE.fullmatch(line)
    if match is None:
        expected = "'PATH partition|file|virtual SIZE USED PRIORITY'"
        raise ParseError("swap", where=f"/{_SWAPS}", line=number, found=line, expected=expected)
    return SwapLine(
        path=unescape(match[1]).removesuffix(_DELETED),
        kind=match[2],
        size_bytes=int(match[3]) * 2**10,
        used_bytes=int(match[4]) * 2**10,
        priority=int(match[5]),
    )


def parse_swappiness(text: str) -> int:
    """Read vm.swappiness, 0 to 200 (to 100 before 5.8)."""
    if re.fullmatch(r"[0-9]{1,3}", text.strip(), re.ASCII) is None or int(text.strip()) > 200:  # noqa: PLR2004
        raise ParseError("swappiness", where=f"/{_SWAPPINESS}", found=text.strip(), expected="a number from 0 to 200")
    return int(text.strip())


def probe_swap(root: Sysroot, *, model_disks: tuple[str, ...] | None) -> SwapFacts:
    """Read swap. ``model_disks``: major:minor of the whole disks under the model, None when there are none to name."""
    text = root.read_optional(_SWAPS)  # absent: a kernel without swap
    return SwapFacts(
        devices=tuple(_probe_device(root, line) for line in parse_swaps(text or "")),
        swappiness=_probe_swappiness(root),
        model_disks=model_disks,
        wsl=is_wsl(root),
    )


def _probe_swappiness(root: Sysroot) -> int | None:
    try:
        own = probe_group_swappiness(root)
    except ProbeError:
        own = None  # the group cannot be seen; the system's value is what new groups start with
    text = root.read_optional(_SWAPPINESS)
    return own if own is not None or text is None else parse_swappiness(text)


def _probe_device(root: Sysroot, line: SwapLine) -> SwapDevice:
    zram = line.kind == "partition" and re.fullmatch(r"zram[0-9]+", PurePosixPath(line.path).name) is not None
    device = SwapDevice(
        path=line.path,
        kind="zram" if zram else line.kind,
        size_bytes=line.size_bytes,
        used_bytes=line.used_bytes,
        priority=line.priority,
        leaves=(),
        leaves_unknown="",
        network=None,
    )
    if zram:
        return device
    if line.kind == "virtual":
        return replace(device, leaves_unknown="LXCFS shows what this container may use of the host's swap, and no disk")
    try:
        if line.kind == "file" and (mount := probe_mount_of(root, probe_mounts(root), line.path)).network:
            return replace(device, network=mount.network)
        return replace(device, leaves=_probe_leaves(root, line))
    except ProbeError as error:
        return replace(device, leaves_unknown=error.message)


def _probe_leaves(root: Sysroot, line: SwapLine) -> tuple[BlockLeaf, ...]:
    if line.kind == "partition":
        return leaves_of(root, device_of_name(root, line.path))
    mount = probe_mount_of(root, probe_mounts(root), line.path)
    numbers = devices_of_mount(root, mount)
    if not numbers:
        raise ProbeError(f"{line.path}: swap file on {mount.fstype} at {mount.mount_point}, which names no device")
    found = (leaf for number in numbers for leaf in leaves_of(root, number))
    return tuple({leaf.major_minor: leaf for leaf in found}.values())
