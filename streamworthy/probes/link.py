"""What the PCIe links below a disk can carry at most.

Source: Documentation/ABI/testing/sysfs-bus-pci: current_link_speed ("8.0 GT/s PCIe"), current_link_width ("4"), since
Linux 4.13. Encoding: PCI Express Base Specification, 8b/10b to 5 GT/s, 128b/130b from 8 GT/s.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamworthy.facts.storage import BlockLeaf
    from streamworthy.probes.sysroot import Sysroot

_SPEED = re.compile(r"([0-9]{1,3}(?:\.[0-9])?) GT/s", re.ASCII)
_OLD_CODE_GIGATRANSFERS = 5.0
_REAL = "nvme"  # emulated devices make their links up


def probe_link(root: Sysroot, leaves: Sequence[BlockLeaf]) -> float | None:
    """Add up what the links of the disks carry, in bytes a second; None when one of them is not known."""
    links = [_narrowest(root, leaf) for leaf in leaves]
    known = [link for link in links if link is not None]
    return sum(known) if links and len(known) == len(links) else None


def _narrowest(root: Sysroot, leaf: BlockLeaf) -> float | None:
    folder = (
        root.resolve(f"sys/class/block/{leaf.name}") if leaf.transport == _REAL and leaf.flags_are_evidence else None
    )
    found = []
    while folder and folder != "sys":
        rate = parse_link(
            root.read_optional(f"{folder}/current_link_speed"), root.read_optional(f"{folder}/current_link_width")
        )
        found += [rate] if rate else []
        folder = folder.rpartition("/")[0]
    return min(found, default=None)


def parse_link(speed: str | None, width: str | None) -> float | None:
    """Give a link's bytes a second: ``8.0 GT/s PCIe``, ``4`` -> 3.94e9; None where either is unknown or no number."""
    match = _SPEED.match(speed or "")
    lanes = int(width) if width and re.fullmatch(r"[0-9]{1,2}", width.strip(), re.ASCII) else 0
    if match is None or not lanes:
        return None
    transfers = float(match[1])
    share = 8 / 10 if transfers <= _OLD_CODE_GIGATRANSFERS else 128 / 130
    return transfers * 1e9 * share / 8 * lanes
