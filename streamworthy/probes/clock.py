"""The clock that the CPUs run at and how often heat slowed them, read again and again.

Sources: Documentation/admin-guide/pm/cpufreq.rst (one folder for each policy; kHz), and thermal_throttle of x86
(Documentation/ABI/testing/sysfs-devices-system-cpu). Virtual machines have neither.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamworthy.errors import ProbeError

if TYPE_CHECKING:
    from streamworthy.probes.sysroot import KeptFile, Sysroot

_CPUS = "sys/devices/system/cpu"
_KILOHERTZ = re.compile(r"[0-9]{1,9}", re.ASCII)
_COUNT = re.compile(r"[0-9]{1,20}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Policy:
    """CPUs that share one clock."""

    current: KeptFile
    most_kilohertz: int
    cpus_count: int


class Clocks:
    """The clocks of all CPUs, kept open: their first reading costs more than all others."""

    def __init__(self, root: Sysroot) -> None:
        """Find the policies."""
        self._policies = [
            policy
            for name in _names(root, f"{_CPUS}/cpufreq")
            if re.fullmatch(r"policy[0-9]+", name)
            if (policy := _open_policy(root, f"{_CPUS}/cpufreq/{name}"))
        ]

    def share(self, cpus_count: int) -> float | None:
        """Give the mean clock of the fastest CPUs, so many, over what each may reach; None where none is told.

        The others are taken for idle.
        """
        shares: list[float] = []
        for policy in self._policies:
            text = (policy.current.read() or "").strip()
            if _KILOHERTZ.fullmatch(text):  # "<unknown>", or nothing of a CPU that went offline
                shares += [int(text) / policy.most_kilohertz] * policy.cpus_count
        fastest = sorted(shares, reverse=True)[: max(1, cpus_count)]
        return sum(fastest) / len(fastest) if fastest else None

    def close(self) -> None:
        """Close the files."""
        for policy in self._policies:
            policy.current.close()


def _open_policy(root: Sysroot, folder: str) -> _Policy | None:
    texts = [_read(root, f"{folder}/{name}") for name in ("cpuinfo_max_freq", "affected_cpus")]
    if not _KILOHERTZ.fullmatch(texts[0]) or int(texts[0]) == 0:
        return None
    return _Policy(
        current=root.keep(f"{folder}/scaling_cur_freq"),
        most_kilohertz=int(texts[0]),
        cpus_count=max(1, len(texts[1].split())),
    )


def count_throttling(root: Sysroot) -> int | None:
    """Sum how often each CPU was slowed for its heat since boot; None where that is not counted."""
    texts = [_read(root, f"{_CPUS}/{name}/thermal_throttle/core_throttle_count") for name in _cpu_names(root)]
    counts = [int(text) for text in texts if _COUNT.fullmatch(text)]
    return sum(counts) if counts else None


def _cpu_names(root: Sysroot) -> list[str]:
    return [name for name in _names(root, _CPUS) if re.fullmatch(r"cpu[0-9]+", name)]


def _names(root: Sysroot, folder: str) -> tuple[str, ...]:
    with suppress(ProbeError):
        return root.names(folder)
    return ()


def _read(root: Sysroot, name: str) -> str:
    with suppress(ProbeError):
        return (root.read_optional(name) or "").strip()
    return ""
