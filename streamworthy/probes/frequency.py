"""What chooses the CPUs' clock: cpufreq's governor and the processor's own preference, and whether a battery feeds it.

Sources: Documentation/admin-guide/pm/cpufreq.rst, intel_pstate.rst and amd-pstate.rst,
Documentation/ABI/testing/sysfs-class-power.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from streamworthy.errors import ProbeError
from streamworthy.facts.conditions import GovernorFacts
from streamworthy.probes.process_limits import parse_cpu_list, parse_status

if TYPE_CHECKING:
    from streamworthy.probes.sysroot import Sysroot

_CPUS = "sys/devices/system/cpu"
_SUPPLIES = "sys/class/power_supply"
_FEEDING = ("Mains", "USB", "BrickID", "Wireless")  # USB_C and USB_PD were types of their own from 4.18 to 5.2
_PERCENT = re.compile(r"[0-9]{1,3}")
_KILOHERTZ = re.compile(r"[0-9]{1,9}")


def probe_governor(root: Sysroot) -> GovernorFacts:
    """Read governors of the CPUs within affinity; no drivers where the kernel does not choose the clock."""
    folders = [f"{_CPUS}/cpu{index}/cpufreq" for index in _allowed(root)]
    drivers = _words(root, folders, "scaling_driver")
    return GovernorFacts(
        drivers=drivers,
        active=bool(drivers) and all(_is_active(root, driver) for driver in drivers),
        governors=_words(root, folders, "scaling_governor"),
        preferences=_words(root, folders, "energy_performance_preference"),
        highest_share=_highest_share(root, folders),
        on_battery=_on_battery(root),
    )


def _allowed(root: Sysroot) -> list[int]:
    """Give the allowed CPUs that are there; an offline one has no clock."""
    allowed = parse_status(root.read_text("proc/self/status")).allowed_cpus
    text = root.read_optional(f"{_CPUS}/online")
    online = parse_cpu_list(text, where=f"/{_CPUS}/online") if text else allowed
    return sorted({*allowed}.intersection(online))


def _words(root: Sysroot, folders: list[str], name: str) -> tuple[str, ...]:
    return tuple(sorted({_text(root, f"{folder}/{name}") for folder in folders} - {""}))


def _is_active(root: Sysroot, driver: str) -> bool:
    if driver == "amd-pstate-epp":  # its name says so
        return True
    folder = {"intel_pstate": "intel_pstate", "amd-pstate": "amd_pstate"}.get(driver)
    return bool(folder) and (root.read_optional(f"{_CPUS}/{folder}/status") or "").strip() == "active"


def _highest_share(root: Sysroot, folders: list[str]) -> float | None:
    """Give the clock that is allowed as a share of the highest there is, of the CPU that is held lowest."""
    percent = _text(root, f"{_CPUS}/intel_pstate/max_perf_pct")  # not there with another driver
    shares = [int(percent) / 100] if _PERCENT.fullmatch(percent) else []
    for folder in folders:
        allowed, highest = (_text(root, f"{folder}/{name}") for name in ("scaling_max_freq", "cpuinfo_max_freq"))
        if _KILOHERTZ.fullmatch(allowed) and _KILOHERTZ.fullmatch(highest) and int(highest):
            shares.append(int(allowed) / int(highest))
    return min(shares, default=None)


def _on_battery(root: Sysroot) -> bool | None:
    """Tell whether the machine runs from a battery of its own; what has the scope Device feeds a mouse or a tablet.

    A battery that is not told to discharge while every supply is offline is not believed: firmware says "Unknown".
    """
    batteries, fed = [], []
    for name in root.names(_SUPPLIES):
        folder = f"{_SUPPLIES}/{name}"
        kind, online = _text(root, f"{folder}/type"), _text(root, f"{folder}/online")
        if _text(root, f"{folder}/scope") == "Device":
            continue
        if kind == "Battery" and _text(root, f"{folder}/present") != "0":
            batteries.append(_text(root, f"{folder}/status"))
        elif kind.startswith(_FEEDING) and online:
            fed.append(online != "0")  # 2 is a programmable supply of USB-PD
    if not batteries or any(fed):
        return False if batteries else None
    return "Discharging" in batteries or (bool(fed) and "Charging" not in batteries)


def _text(root: Sysroot, name: str) -> str:
    try:
        return (root.read_optional(name) or "").strip()
    except ProbeError:  # ENODEV of a battery that was taken out, EBUSY or EINVAL while a driver changes its mode
        return ""
