"""How hot the model's disks are, and where they slow down, by their own word.

hwmon of NVMe (drivers/nvme/host/hwmon.c, since 5.5): temp1_input, temp1_max is the drive's warning threshold and
temp1_crit its critical one, in thousandths of a degree; drivetemp gives the same names for SATA.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from streamworthy.errors import ProbeError
from streamworthy.facts.conditions import DriveTemperature, TemperatureFacts

if TYPE_CHECKING:
    from streamworthy.facts.storage import BlockLeaf, VolumesFacts
    from streamworthy.probes.sysroot import Sysroot

_VIRTUAL = ("virtio", "vmware", "hyperv", "xen", "emulated", "ram", "loop", "nbd", "rbd")
_MILLIDEGREES = re.compile(r"-?[0-9]{1,7}")
_UNSET = 65261  # a limit of 65261.85 C is the driver's reading of "none"; so is one of 0


def probe_temperatures(root: Sysroot, volumes: VolumesFacts) -> TemperatureFacts:
    """Read the sensors of every leaf disk; one without is not an error, the record says so."""
    leaves = {leaf.name: leaf for volume in volumes.volumes for leaf in volume.leaves}
    return TemperatureFacts(drives=tuple(_probe_drive(root, leaf) for leaf in leaves.values()))


def _probe_drive(root: Sysroot, leaf: BlockLeaf) -> DriveTemperature:
    readings = [each for folder in _sensors(root, leaf.name) if (each := _read(root, folder))[0] is not None]
    hottest = max(readings, key=lambda each: each[0] or 0.0, default=(None, None, None))
    return DriveTemperature(
        name=leaf.name,
        virtual=leaf.transport in _VIRTUAL,
        celsius=hottest[0],
        warning_celsius=hottest[1],
        critical_celsius=hottest[2],
    )


def _sensors(root: Sysroot, name: str) -> list[str]:
    """Find hwmon folders of a disk: of each NVMe controller (several share a multipath disk), or as SCSI has them."""
    device = f"sys/block/{name}/device"
    paths = [f"{device}/{child}" for child in root.names(device) if re.fullmatch(r"nvme[0-9]+", child)]
    return [
        f"{place}/{child}"
        for place in (device, f"{device}/hwmon", *paths)
        for child in root.names(place)
        if re.fullmatch(r"hwmon[0-9]+", child)
    ]


def _read(root: Sysroot, folder: str) -> tuple[float | None, float | None, float | None]:
    now = _degrees(root, f"{folder}/temp1_input")
    limits = [_degrees(root, f"{folder}/temp1_{name}") for name in ("max", "crit")]
    warning, critical = (limit if limit is not None and 0 < limit < _UNSET else None for limit in limits)
    return now, warning, critical


def _degrees(root: Sysroot, name: str) -> float | None:
    try:
        text = (root.read_optional(name) or "").strip()
    except ProbeError:  # a drive that sleeps, or does not know
        return None
    return int(text) / 1000 if _MILLIDEGREES.fullmatch(text) else None
