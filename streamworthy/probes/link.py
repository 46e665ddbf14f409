"""The PCIe links of NVMe drives: what they carry now, and what drive and slot could.

Source: Documentation/ABI/testing/sysfs-bus-pci: current_link_speed ("8.0 GT/s PCIe"), current_link_width ("4") and
max_link_*, since Linux 4.13. A link may be slowed down while it is idle, so that a low one is read again under load.
"""

from __future__ import annotations

import mmap
import os
import random
import re
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from streamworthy.facts.drives import DriveLink, LinkFacts, PcieLink
from streamworthy.probes.captured import tables, take

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from streamworthy.facts.storage import BlockLeaf, VolumesFacts
    from streamworthy.probes.sysroot import Sysroot

_SPEED = re.compile(r"([0-9]{1,3}(?:\.[0-9])?) GT/s", re.ASCII)
_FUNCTION = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_REAL = "nvme"  # emulated devices make their links up
_LOAD_SECONDS = 1.0
_LOOK_SECONDS = 0.02
_READ_BYTES = 2**20


def probe_links(root: Sysroot, volumes: VolumesFacts) -> LinkFacts:
    """Read the link of every NVMe leaf; one that is low is read again while the shards above it are read."""
    links: dict[str, DriveLink] = {}
    others = []
    for volume in volumes.volumes:
        for leaf in volume.leaves:
            places = _functions(root, leaf) if leaf.transport == _REAL and leaf.flags_are_evidence else []
            links |= {place: _probe(root, leaf, place, volume.shards) for place in places if place not in links}
            others += [] if places else [f"{leaf.name} ({leaf.transport})"]
    unknown = [volume.leaves_unknown for volume in volumes.volumes if volume.leaves_unknown]
    return LinkFacts(
        links=tuple(links.values()), others=tuple(dict.fromkeys(others)), unknown="; ".join(dict.fromkeys(unknown))
    )


def _functions(root: Sysroot, leaf: BlockLeaf) -> list[str]:
    """Give the folders of the PCI functions that a disk hangs on: of each controller of a multipath disk."""
    folder = root.resolve(f"sys/class/block/{leaf.name}")
    device = f"sys/class/block/{leaf.name}/device"
    controllers = [f"{device}/{name}" for name in root.names(device) if re.fullmatch(r"nvme[0-9]+", name)]
    places = [root.resolve(controller) for controller in controllers] if controllers else [folder]
    found = [_up_to_function(place) for place in places if place]
    return [place for place in found if place]


def _up_to_function(place: str) -> str:
    while place and not _FUNCTION.fullmatch(place.rpartition("/")[2]):
        place = place.rpartition("/")[0]
    return place


def _probe(root: Sysroot, leaf: BlockLeaf, place: str, shards: Sequence[str]) -> DriveLink:
    function, port = place.rpartition("/")[2], place.rpartition("/")[0]
    found = DriveLink(
        name=leaf.name,
        function=function,
        current=_read(root, place, "current"),
        drive=_read(root, place, "max"),
        slot=_read(root, port, "max") if _FUNCTION.fullmatch(port.rpartition("/")[2]) else None,
        loaded=False,
    )
    told = _captured(root, function)
    if told is None and root.live and found.current and found.reach and found.current.below(found.reach):
        told = _under_load(root, place, shards, found.current)
    return found if told is None else replace(found, current=told, loaded=True)


def _captured(root: Sysroot, function: str) -> PcieLink | None:
    for answer in tables(root, "link"):
        if take(root, "link", answer, "function", str) == function:
            return PcieLink(
                gigatransfers=take(root, "link", answer, "gigatransfers", float),
                lanes_count=take(root, "link", answer, "lanes", int),
            )
    return None


def _under_load(root: Sysroot, place: str, shards: Sequence[str], idle: PcieLink) -> PcieLink | None:
    """Give the best that a link was while shards were read, and keep it in a capture; None when none can be read."""
    best = idle
    with _reading(shards) as counted:
        end = time.monotonic() + _LOAD_SECONDS
        while time.monotonic() < end:
            time.sleep(_LOOK_SECONDS)
            seen = _read(root, place, "current")
            if counted and seen and seen.bytes_per_second > best.bytes_per_second:
                best = seen
    if not counted:
        return None
    function = place.rpartition("/")[2]
    root.note("link", {"function": function, "gigatransfers": best.gigatransfers, "lanes": best.lanes_count})
    return best


@contextmanager
def _reading(paths: Sequence[str]) -> Iterator[list[int]]:
    """Read random places of files past the page cache meanwhile; gives a list that grows with each read."""
    counted: list[int] = []
    over = threading.Event()

    def work() -> None:
        try:
            with mmap.mmap(-1, _READ_BYTES) as buffer:
                while not over.is_set():
                    counted.append(_read_somewhere(random.choice(paths), buffer))  # noqa: S311 - places, no secrets
        except (OSError, IndexError):  # no O_DIRECT here, or no shard: the link stays as it is, and unloaded
            return

    thread = threading.Thread(target=work, name="link-load", daemon=True)
    thread.start()
    try:
        yield counted
    finally:
        over.set()
        thread.join(_LOAD_SECONDS)  # a disk that hangs is given up, with its thread


def _read_somewhere(path: str, buffer: mmap.mmap) -> int:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECT)
    try:
        count = os.fstat(descriptor).st_size // _READ_BYTES
        return os.preadv(descriptor, [buffer], random.randrange(max(1, count)) * _READ_BYTES)  # noqa: S311
    finally:
        os.close(descriptor)


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
        link = _read(root, folder, "current")
        found += [link.bytes_per_second] if link else []
        folder = folder.rpartition("/")[0]
    return min(found, default=None)


def _read(root: Sysroot, folder: str, which: str) -> PcieLink | None:
    speed, width = (root.read_optional(f"{folder}/{which}_link_{part}") for part in ("speed", "width"))
    return parse_link(speed, width)


def parse_link(speed: str | None, width: str | None) -> PcieLink | None:
    """Read ``8.0 GT/s PCIe`` and ``4``; None where either is unknown or no number."""
    match, lanes = _SPEED.match(speed or ""), re.fullmatch(r"0*([1-9][0-9]?)", (width or "").strip(), re.ASCII)
    if match is None or lanes is None:
        return None
    return PcieLink(gigatransfers=float(match[1]), lanes_count=int(lanes[1]))
