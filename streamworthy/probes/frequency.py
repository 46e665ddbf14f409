"""What chooses the CPUs' clock: cpufreq's governor and the processor's own preference, and whether a battery feeds it.

Sources: Documentation/admin-guide/pm/cpufreq.rst, intel_pstate.rst and amd-pstate.rst,
Documentation/ABI/testing/sysfs-class-power.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.errors import ProbeError
from streamworthy.facts.conditions import GovernorFacts
from streamworthy.probes.process_limits import parse_cpu_list, parse_status

if TYPE_CHECKING:
    from streamworthy.probes.sysroot import Sysroot

_CPUS = "sys/devices/system/cpu"
_SUPPLIES = "sys/class/power_supply"


def probe_governor(root: Sysroot) -> GovernorFacts:
    """Read governors of the CPUs within affinity; no drivers where the kernel does not choose the clock."""
    folders = [f"{_CPUS}/cpu{index}/cpufreq" for index in _allowed(root)]
    drivers = _words(root, folders, "scaling_driver")
    return GovernorFacts(
        drivers=drivers,
        active=bool(drivers) and all(_is_active(root, driver) for driver in drivers),
        governors=_words(root, folders, "scaling_governor"),
        preferences=_words(root, folders, "energy_performance_preference"),
        on_battery=_on_battery(root),
    )


def _allowed(root: Sysroot) -> list[int]:
    """Give the allowed CPUs that are there; an offline one has no clock."""
    allowed = parse_status(root.read_text("proc/self/status")).allowed_cpus
    text = root.read_optional(f"{_CPUS}/online")
    online = parse_cpu_list(text, where=f"/{_CPUS}/online") if text else allowed
    return sorted({*allowed}.intersection(online))


def _words(root: Sysroot, folders: list[str], name: str) -> tuple[str, ...]:
    found = set()
    for folder in folders:
        try:
            text = root.read_optional(f"{folder}/{name}")
        except ProbeError:  # EBUSY or EINVAL while the driver changes its mode
            continue
        found.add((text or "").strip())
    return tuple(sorted(found - {""}))


def _is_active(root: Sysroot, driver: str) -> bool:
    if driver == "amd-pstate-epp":  # its name says so
        return True
    folder = {"intel_pstate": "intel_pstate", "amd-pstate": "amd_pstate"}.get(driver)
    return bool(folder) and (root.read_optional(f"{_CPUS}/{folder}/status") or "").strip() == "active"


def _on_battery(root: Sysroot) -> bool | None:
    """Tell whether the machine runs from a battery of its own; a mouse's battery has the scope Device."""
    batteries, mains = [], []
    for name in root.names(_SUPPLIES):
        read = {
            key: (root.read_optional(f"{_SUPPLIES}/{name}/{key}") or "").strip()
            for key in ("type", "scope", "online", "status")
        }
        if read["type"] == "Battery" and read["scope"] != "Device":
            batteries.append(read["status"])
        elif read["type"] in ("Mains", "USB") and read["online"]:
            mains.append(read["online"] != "0")
    if not batteries:
        return None
    return not any(mains) and "Discharging" in batteries
