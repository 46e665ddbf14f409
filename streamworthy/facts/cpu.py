"""What is known about the processor, as the engine's process may use it."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuFacts:
    """The processor within this process's affinity and CPU quota.

    ``flags`` are those that every allowed CPU has, in /proc/cpuinfo's spelling, sorted; ``partial_flags`` those that
    only some of them have.
    """

    architecture: str  # "x86_64", "aarch64": as uname -m says, arm64 and amd64 written as Linux does
    pointer_bits: int | None  # of this process; None: a captured machine
    model_name: str | None  # None: aarch64 kernels print part numbers only
    hypervisor: bool  # cpuinfo's flag; always False on aarch64, whose kernels do not print it
    flags: tuple[str, ...] | None  # None: kernels other than Linux, architectures without flags in cpuinfo
    partial_flags: tuple[str, ...]
    online_count: int  # logical CPUs
    allowed_count: int | None  # logical CPUs within affinity; None: macOS has no affinity
    physical_cores_count: int | None  # within affinity; None: no topology is told, cores_unknown says why
    performance_cores_count: int | None  # of them; None: all are of one kind, or the kernel does not tell kinds
    quota_cores: float | None  # CPU seconds a second allowed by control groups; None: no quota
    cores_unknown: str  # why cores or quota are unknown; empty when they are known

    @property
    def usable_cores_count(self) -> int | None:
        """Cores that can run at the same time: a barrier waits for a throttled thread, so a quota is rounded down."""
        if self.physical_cores_count is None or self.cores_unknown:
            return None
        if self.quota_cores is None:
            return self.physical_cores_count
        return min(self.physical_cores_count, max(1, math.floor(self.quota_cores)))

    @property
    def runnable_threads_count(self) -> int:
        """Threads that can run at the same time, hardware threads counted, within affinity and quota, at least one."""
        allowed = self.online_count if self.allowed_count is None else self.allowed_count
        return max(1, allowed if self.quota_cores is None else min(allowed, math.floor(self.quota_cores)))
