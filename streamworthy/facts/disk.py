"""What the disks below the model deliver without an engine, path by path."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

_FOREIGN_RATIO = 1.05  # devices read for this process alone what it made them read
_FOREIGN_BYTES = 2**18


def others_read(device_bytes: int | None, own_bytes: int | None) -> bool:
    """Tell whether devices read for somebody else too; False when either count is not known."""
    if device_bytes is None or own_bytes is None:
        return False
    return device_bytes > own_bytes * _FOREIGN_RATIO + _FOREIGN_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRate:
    """Reads of one kind, in rounds over places that no other round has read."""

    path: str  # "O_DIRECT", "mmap faults", "MADV_POPULATE_READ"
    block_bytes: int  # of one read, or of one slab
    lanes_count: int  # reads in flight; for the mapped paths threads that fault
    rates_bytes_per_second: tuple[float, ...]  # of useful bytes, one a round
    seconds: float  # of all rounds
    useful_bytes: int  # asked for
    own_bytes: int | None  # that this process made devices read (/proc/self/io); None where the kernel does not tell
    device_bytes: int | None  # that the leaf devices read for anyone; None: devices not known
    resident_share: float | None  # of the shards before the rounds, the most; None: not asked (O_DIRECT)

    @property
    def rate_bytes_per_second(self) -> float:
        """The median round's rate."""
        return median(self.rates_bytes_per_second)

    @property
    def amplification_ratio(self) -> float | None:
        """Device bytes over useful bytes; None when the devices are not known."""
        return None if self.device_bytes is None else self.device_bytes / max(1, self.useful_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskState:
    """What surrounds every number of one disk run, and what speaks against it."""

    refused: str  # why nothing was measured: somebody else uses the disk; empty: it was
    refused_fix: tuple[str, ...]
    doubts: tuple[str, ...]  # why a number is better than the disk, or not the disk's
    devices: tuple[str, ...]  # leaf devices, as in diskstats
    scratch: str  # which file was read instead of shards, and why; empty: the shards were
    method: str  # "O_DIRECT", or why that was not possible
    reread_ratio: float | None  # rate of a second reading over the first; None: not measured
    link_bytes_per_second: float | None  # of the devices' PCIe links; None: none is known
    temperature_celsius: float | None  # the hottest sensor; None: none is readable
    disturbers: tuple[str, ...]  # who used the shards or their device, with --disturb
    hidden: str  # which processes this user cannot see


@dataclass(frozen=True, slots=True, kw_only=True)
class SequentialReads:
    """1 MiB reads in the files' order; empty rates when refused."""

    one: ReadRate | None  # None: refused, or no direct reads here
    eight: ReadRate | None
    state: DiskState


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyReads:
    """4 KiB reads at random places of the shards, past the page cache."""

    latencies_seconds: tuple[float, ...]  # one at a time, in the order taken; empty when refused
    median_seconds: float
    p99_seconds: float
    iops_one: float  # reads a second, one at a time
    iops_many: float | None  # at 32 in flight, from two processes; None: not measured
    own_bytes: int | None  # as of ReadRate, of the reads one at a time
    device_bytes: int | None
    state: DiskState


@dataclass(frozen=True, slots=True, kw_only=True)
class SlabSize:
    """One of the model's slab sizes through every path."""

    slab_bytes: int
    one: ReadRate | None  # O_DIRECT, one at a time; None: refused
    eight: ReadRate | None
    mapped: ReadRate | None  # None: the shards could not be made cold
    populated: ReadRate | None  # None: the kernel is older than 5.14, or not cold


@dataclass(frozen=True, slots=True, kw_only=True)
class SlabReads:
    """Random slabs of the model's own experts: its smallest and its largest."""

    slab_sizes_bytes: tuple[int, ...]  # of the model, ascending, also when nothing was measured
    sizes: tuple[SlabSize, ...]  # empty: refused, or the model has no experts (``dense``)
    dense: str  # why there are no slabs; empty: there are
    warm: str  # why the mapped paths could not begin cold; empty: they did
    state: DiskState


@dataclass(frozen=True, slots=True, kw_only=True)
class SustainedReads:
    """A minute of random slabs at full depth."""

    skipped: str  # why it was not run; empty: it was
    rates_bytes_per_second: tuple[float, ...]  # one a second
    celsius_before: float | None  # None: no sensor is readable
    celsius_after: float | None
    wrapped: bool  # the shards are smaller than what was read: places were read again
    own_bytes: int | None  # as of ReadRate
    device_bytes: int | None
    state: DiskState


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAhead:
    """The kernel's read-ahead of one mounted device that holds shards."""

    mount_point: str
    device: str  # "nvme0n1", "dm-0"; what the setting belongs to
    setting: str  # path of the setting below /sys
    read_ahead_bytes: int | None  # None where sysfs does not tell
    udev_match: str  # keys that find the device again at the next boot; empty: udev does not set it
    shards_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAheadFacts:
    """The read-ahead of each device that holds shards."""

    devices: tuple[ReadAhead, ...]
