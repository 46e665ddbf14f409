"""The state that a machine is in before anything is measured: clock, pressure, busy disks, hot drives."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GovernorFacts:
    """What chooses the clock of the CPUs within affinity; each word once, sorted."""

    drivers: tuple[str, ...]  # "intel_pstate", "amd-pstate-epp", "acpi-cpufreq"; empty: no cpufreq (virtual machines)
    active: bool  # the driver leaves the clock to the processor, where "powersave" means balanced
    governors: tuple[str, ...]
    preferences: tuple[str, ...]  # energy_performance_preference; empty: only processors that choose themselves have it
    highest_share: float | None  # the clock that is allowed, of the highest there is; None: no cpufreq
    on_battery: bool | None  # None: no battery


@dataclass(frozen=True, slots=True, kw_only=True)
class PressureFacts:
    """How much of the last ten seconds something waited for CPU, memory or disks ("some" of PSI), system-wide."""

    cpu_share: float | None  # None: kernels before 4.20 or without CONFIG_PSI, and those started with psi=0
    memory_share: float | None  # likewise
    io_share: float | None  # likewise
    load_average: float | None  # of one minute; None: not told
    busiest: tuple[str, ...]  # "name (pid N), 0.98 of a core"; empty where nobody looked: a captured machine


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskActivity:
    """One leaf disk of the model over a short while, in which nothing of ours used it."""

    name: str
    busy_share: float  # of the time with a request in flight
    read_bytes_per_second: float
    written_bytes_per_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityFacts:
    """What others make of the model's disks."""

    disks: tuple[DiskActivity, ...]
    users: tuple[str, ...]  # "name (pid N), 120.0 MB/s", largest first; of processes that can be looked into
    unseen: str  # why the disks were not watched; "" when they were


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveTemperature:
    """One leaf disk's own sensor and limits."""

    name: str
    virtual: bool  # a disk that a hypervisor makes up, or another machine's, has no sensor here
    celsius: float | None  # None: no hwmon (NVMe before 5.5, SATA without drivetemp)
    warning_celsius: float | None  # above it the drive slows down; None: not told
    critical_celsius: float | None  # None: not told


@dataclass(frozen=True, slots=True, kw_only=True)
class TemperatureFacts:
    """The model's disks."""

    drives: tuple[DriveTemperature, ...]
