"""How hot the model's disks are, and where they slow down, by their own word; and how hot the CPUs are.

hwmon of NVMe (drivers/nvme/host/hwmon.c, since 5.5): temp1_input, temp1_max is the drive's warning threshold and
temp1_crit its critical one, in thousandths of a degree; drivetemp gives the same names for SATA. Of the CPUs' drivers
temp1 is the whole processor (Documentation/hwmon/coretemp.rst, k10temp.rst).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from streamworthy.errors import ProbeError
from streamworthy.facts.conditions import DriveTemperature, TemperatureFacts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streamworthy.facts.storage import BlockLeaf, VolumesFacts
    from streamworthy.probes.sysroot import KeptFile, Sysroot

_HWMON = "sys/class/hwmon"
_CPU_DRIVERS = ("coretemp", "k10temp", "zenpower", "cpu_thermal")  # Intel, AMD, AMD, Arm boards
_VIRTUAL = ("virtio", "vmware", "hyperv", "xen", "emulated", "ram", "loop", "nbd", "rbd", "nvme-fabrics", "iscsi", "fc")
_MILLIDEGREES = re.compile(r"-?[0-9]{1,7}")
_COLDEST = -100.0  # a drive without a sensor says 0 K
_UNSET = 65261  # a limit of 65261.85 C is the driver's reading of "none"; so is one of 0


def probe_temperatures(root: Sysroot, volumes: VolumesFacts) -> TemperatureFacts:
    """Read the sensors of every leaf disk; one without is not an error, the record says so."""
    leaves = {leaf.name: leaf for volume in volumes.volumes for leaf in volume.leaves}
    return TemperatureFacts(drives=tuple(_probe_drive(root, leaf) for leaf in leaves.values()))


def _probe_drive(root: Sysroot, leaf: BlockLeaf) -> DriveTemperature:
    readings = [each for folder in find_sensors(root, leaf.name) if (each := _read(root, folder))[0] is not None]
    most = max(readings, key=lambda each: each[0] or 0.0, default=(None, None, None))
    return DriveTemperature(
        name=leaf.name,
        virtual=leaf.transport in _VIRTUAL,
        celsius=most[0],
        warning_celsius=most[1],
        critical_celsius=most[2],
    )


def find_sensors(root: Sysroot, name: str) -> list[str]:
    """Find hwmon folders of a disk: of each NVMe controller (several share a multipath disk), or as SCSI has them.

    From 5.5 to 5.11 they were those of the controller's PCI device.
    """
    device = f"sys/block/{name}/device"
    controllers = [f"{device}/{child}" for child in _list(root, device) if re.fullmatch(r"nvme[0-9]+", child)]
    places = [place for each in (device, *controllers) for place in (each, f"{each}/hwmon", f"{each}/device/hwmon")]
    return [
        f"{place}/{child}" for place in places for child in _list(root, place) if re.fullmatch(r"hwmon[0-9]+", child)
    ]


def find_cpu_sensors(root: Sysroot) -> list[str]:
    """Find hwmon folders of the processors."""
    folders = [f"{_HWMON}/{name}" for name in _list(root, _HWMON)]
    return [folder for folder in folders if _text(root, f"{folder}/name") in _CPU_DRIVERS]


def disks_celsius(root: Sysroot, names: Iterable[str]) -> float | None:
    """Give the hottest sensor of some disks at this moment; None where none can be read."""
    found = [_read(root, folder)[0] for name in names for folder in find_sensors(root, name)]
    return max((each for each in found if each is not None), default=None)


def hottest(sensors: Iterable[KeptFile]) -> float | None:
    """Give the hottest of the sensors that are kept open; None where none can be read."""
    return max((each for sensor in sensors if (each := _parse(sensor.read())) is not None), default=None)


def _list(root: Sysroot, folder: str) -> tuple[str, ...]:
    try:
        return root.names(folder)
    except ProbeError:  # not every user may look
        return ()


def _read(root: Sysroot, folder: str) -> tuple[float | None, float | None, float | None]:
    now = _parse(_text(root, f"{folder}/temp1_input"))
    if now is not None and now < _COLDEST:
        return None, None, None
    limits = [_parse(_text(root, f"{folder}/temp1_{name}")) for name in ("max", "crit")]
    warning, critical = (limit if limit is not None and 0 < limit < _UNSET else None for limit in limits)
    return now, warning, critical


def _text(root: Sysroot, name: str) -> str:
    try:
        return (root.read_optional(name) or "").strip()
    except ProbeError:  # a drive that sleeps, or does not know
        return ""


def _parse(text: str | None) -> float | None:
    """Read thousandths of a degree."""
    found = (text or "").strip()
    return int(found) / 1000 if _MILLIDEGREES.fullmatch(found) else None
