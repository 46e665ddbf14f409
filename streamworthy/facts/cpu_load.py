"""Who else computed while an episode ran."""

from __future__ import annotations

from dataclasses import dataclass

# Hogs beside two threads made them wait 0.7 to 1.4, one that shares a CPU fairly 0.49, disks and swap at most 0.3.
_OTHERS_CORES = 0.3
_WAIT_SHARE = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuLoad:
    """CPU time of others and the engine's wait for a CPU, over one stretch of time.

    Kernel threads are not counted as others: reclaim and block input work for the engine.
    """

    others_cores: float  # CPU seconds a second of other processes
    steal_cores: float  # taken by a hypervisor's other guests
    wait_share: (
        float | None
    )  # run-queue wait of the engine's threads, summed, over time; None: kernel without schedstat
    allowed_cores: float | None  # CPUs within the engine's affinity, or its quota if that is less; None: not told
    threads_count: int  # of the engine while it computes; 0: not told
    busiest: tuple[str, ...]  # "name (pid N), 0.98 of a core", the largest first

    @property
    def disturbed(self) -> bool:
        """Tell whether others took CPU time that the engine waited for."""
        others = self.others_cores + self.steal_cores
        return others > _OTHERS_CORES and self.wait_share is not None and self.wait_share > _WAIT_SHARE

    @property
    def cramped(self) -> bool:
        """Tell whether the engine has more threads than CPUs to run them on, and waits for that."""
        few = self.allowed_cores is not None and self.allowed_cores < self.threads_count
        return few and self.wait_share is not None and self.wait_share > _WAIT_SHARE
