"""What control groups let be read from the model's disks.

Version 2 has ``MAJOR:MINOR rbps=N wbps=N riops=N wiops=N`` in io.max, N or ``max``, and a limit of an ancestor binds
(Documentation/admin-guide/cgroup-v2.rst). Version 1 has ``MAJOR:MINOR N`` in blkio.throttle.read_bps_device and
read_iops_device, and only the process's own group binds (cgroup-v1/blkio-controller.rst, block/blk-throttle.c).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from streamworthy.errors import ParseError
from streamworthy.facts.storage import ReadLimit, ReadLimitFacts
from streamworthy.probes.cgroup import find_way

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from streamworthy.facts.storage import Volume, VolumesFacts
    from streamworthy.probes.cgroup import Way
    from streamworthy.probes.sysroot import Sysroot

_LINE = re.compile(r"([0-9]{1,9}:[0-9]{1,9})((?: [a-z]{1,20}=(?:max|[0-9]{1,20}))*)\s*", re.ASCII)
_LINE_V1 = re.compile(r"([0-9]{1,9}:[0-9]{1,9}) ([0-9]{1,20})\s*", re.ASCII)
_THROTTLE = "blkio.throttle.read_{}_device"


def parse_io_max(text: str, *, where: str) -> dict[str, tuple[int | None, int | None]]:
    """Read version 2's io.max: bytes and reads a second by device number; None is no limit."""
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        match = _LINE.fullmatch(line)
        if match is None:
            expected = "'MAJOR:MINOR rbps=N wbps=N riops=N wiops=N'"
            raise ParseError("read limit", where=f"/{where}", line=number, found=line, expected=expected)
        values = dict(each.split("=") for each in match[2].split())
        found[match[1]] = (_amount(values.get("rbps")), _amount(values.get("riops")))
    return found


def _amount(text: str | None) -> int | None:
    return None if text is None or text == "max" else int(text)


def parse_throttle(text: str, *, where: str) -> dict[str, int]:
    """Read version 1's limits of one kind by device number."""
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        match = _LINE_V1.fullmatch(line)
        if match is None:
            raise ParseError("read limit", where=f"/{where}", line=number, found=line, expected="'MAJOR:MINOR NUMBER'")
        found[match[1]] = int(match[2])
    return found


def probe_read_limits(root: Sysroot, volumes: VolumesFacts) -> ReadLimitFacts:
    """Look for limits on each device below the model. ProbeError when this process's groups cannot be seen."""
    names: dict[str, tuple[str, int]] = {}
    for volume in volumes.volumes:
        for number, (name, count) in _devices_of(root, volume).items():
            names[number] = (name, min(count, names.get(number, (name, count))[1]))  # shared by volumes: the fewest
    unknown = [volume.leaves_unknown for volume in volumes.volumes if volume.leaves_unknown]
    if "" in names:
        unknown.append(f"/sys/class/block/{names[''][0]}/dev is not told")
    way = find_way(root, "blkio")
    return ReadLimitFacts(
        limits=tuple(_limits(root, way, names)) if way is not None else (),
        devices=tuple(dict.fromkeys(name for name, _ in names.values())),
        unknown="; ".join(dict.fromkeys(unknown)),
    )


def _devices_of(root: Sysroot, volume: Volume) -> dict[str, tuple[str, int]]:
    """Give name and count of drives that are read at once beside it, by number, of each device down to the leaves."""
    chains = [leaf.chain or (leaf.name,) for leaf in volume.leaves]
    found = {}
    for name in dict.fromkeys(name for chain in chains for name in chain):
        number = (root.read_optional(f"sys/class/block/{name}/dev") or "").strip()
        shared = all(name in chain for chain in chains)
        found[number] = (name, 1 if shared else len(chains))
    return found


def _limits(root: Sysroot, way: Way, names: Mapping[str, tuple[str, int]]) -> Iterator[ReadLimit]:
    read = _read_v1 if way.version == 1 else _read_v2
    for folder in way.folders[:1] if way.version == 1 else way.folders:
        for file, number, bytes_a_second, reads_a_second in read(root, folder):
            if number in names and (bytes_a_second, reads_a_second) != (None, None):
                name, count = names[number]
                yield ReadLimit(
                    group=folder.removeprefix(way.top) or "/",
                    file=f"/{file}",
                    device=name,
                    major_minor=number,
                    drives_count=count,
                    bytes_per_second=bytes_a_second,
                    reads_per_second=reads_a_second,
                )


def _read_v2(root: Sysroot, folder: str) -> Iterator[tuple[str, str, int | None, int | None]]:
    file = f"{folder}/io.max"
    for number, (each_second, reads) in parse_io_max(root.read_optional(file) or "", where=file).items():
        yield file, number, each_second, reads


def _read_v1(root: Sysroot, folder: str) -> Iterator[tuple[str, str, int | None, int | None]]:
    for kind in ("bps", "iops"):
        file = f"{folder}/{_THROTTLE.format(kind)}"
        for number, amount in parse_throttle(root.read_optional(file) or "", where=file).items():
            yield file, number, *((amount, None) if kind == "bps" else (None, amount))
