"""What machine and engine did while something was timed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamworthy.facts.cpu_load import CpuLoad

_FOREIGN_RATIO, _FOREIGN_BYTES = 2, 64 * 2**20  # the device read more than this beside the engine: not our number


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """Differences between the ends of one stretch of time, and the extremes of what was seen in between.

    Shares are of the elapsed time. None: this kernel, machine or user cannot be told.
    """

    seconds: float
    ticks_count: int  # readings, both ends included
    # pressure: Documentation/accounting/psi.rst, machine-wide, since Linux 4.20
    io_some_share: float | None
    io_full_share: float | None
    memory_full_share: float | None
    cpu_some_share: float | None
    # the model's leaf devices: Documentation/admin-guide/iostats.rst
    device_bytes: int | None  # read, for anyone
    device_busy_share: float | None  # of the busiest one
    device_queue_depth: float | None  # reads and writes in flight, mean, of all of them
    # the engine's process: proc(5)
    engine_bytes: int | None  # that it made devices read; None without CONFIG_TASK_IO_ACCOUNTING
    engine_cores: float | None  # CPU seconds a second
    major_faults: int | None
    anonymous_bytes: int | None  # RssAnon and VmSwap at the end
    swapped_bytes: int | None
    # reclaim on the machine: /proc/vmstat
    refaulted_bytes: int | None  # file pages that came back after they were reclaimed (since 5.9; 4.20 in one number)
    swapped_in_bytes: int | None
    kswapd_cores: float | None
    # heat and clock, the worst that was seen
    device_celsius: float | None
    cpu_celsius: float | None
    clock_share: float | None  # lowest mean clock of the engine's CPUs over what they may reach; None: too short
    throttle_count: int | None  # thermal events, x86 only
    cpu: CpuLoad | None  # who else computed

    @property
    def others_read(self) -> bool:
        """Tell whether the model's devices read for others what matters beside the engine's own reads."""
        seen, own = self.device_bytes, self.engine_bytes
        return seen is not None and own is not None and seen > _FOREIGN_RATIO * own + _FOREIGN_BYTES
