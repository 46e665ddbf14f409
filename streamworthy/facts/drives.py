"""What the model's drives say of themselves and of the bus they hang on."""

from __future__ import annotations

from dataclasses import dataclass

_LAST_8B10B_GIGATRANSFERS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PcieLink:
    """A speed and a number of lanes."""

    gigatransfers: float  # of each lane, a second: 2.5, 5, 8, 16, 32
    lanes_count: int

    @property
    def bytes_per_second(self) -> float:
        """What it carries: 8b/10b encoding to 5 GT/s, 128b/130b from 8 GT/s (PCI Express Base Specification)."""
        share = 8 / 10 if self.gigatransfers <= _LAST_8B10B_GIGATRANSFERS else 128 / 130
        return self.gigatransfers * 1e9 * share / 8 * self.lanes_count

    def below(self, other: PcieLink) -> bool:
        """Tell whether it is slower or narrower than another."""
        return self.gigatransfers < other.gigatransfers or self.lanes_count < other.lanes_count


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveLink:
    """The link of one NVMe controller."""

    name: str  # the disk's: "nvme0n1"
    function: str  # PCI address: "0000:02:00.0"
    current: PcieLink | None  # None: not told (kernels before 4.13, "Unknown")
    drive: PcieLink | None  # the most that the drive can; None: likewise
    slot: PcieLink | None  # the most that the port above can; None: no port is seen, as in a virtual machine
    loaded: bool  # ``current`` was read while the drive was read: idle links may be slowed down

    @property
    def reach(self) -> PcieLink | None:
        """The most that both ends can, as far as they are known; None: the drive does not tell."""
        if self.drive is None or self.slot is None:
            return self.drive
        return PcieLink(
            gigatransfers=min(self.drive.gigatransfers, self.slot.gigatransfers),
            lanes_count=min(self.drive.lanes_count, self.slot.lanes_count),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkFacts:
    """The links of all NVMe drives below the model."""

    links: tuple[DriveLink, ...]
    others: tuple[str, ...]  # disks without a PCIe link that tells anything, each with why: "vda (virtio)"
    unknown: str  # why the disks below a volume are not known; empty: they are, or there are none


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthLog:
    """What an NVMe drive says of its own health: log page 02h."""

    critical_warning: int  # bits: 0 spare low, 1 temperature, 2 reliability, 3 read-only, 4 backup, 5 persistent memory
    spare_share: float  # of the spare blocks, what is left
    spare_threshold_share: float  # below it the drive warns
    used_share: float  # of the writes that the drive is rated for, by the maker's estimate; may exceed one
    media_errors_count: int  # reads whose data the drive could not give back


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveHealth:
    """One NVMe drive below the model."""

    name: str
    log: HealthLog | None  # None: ``unknown`` says why
    unknown: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayState:
    """A redundant md array below the model."""

    name: str  # "md0"
    level: str  # "raid5"
    lacking_count: int  # members that are missing or have failed
    action: str  # what the kernel does to it: "idle", "resync", "recover", "check", "repair", "reshape"; "" not told


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthFacts:
    """The health of all NVMe drives below the model, and of the arrays that they are in."""

    drives: tuple[DriveHealth, ...]
    arrays: tuple[ArrayState, ...]
    others: tuple[str, ...]  # disks that are not asked: "sda (sata)"
    unknown: str  # why the disks below a volume are not known; empty: they are, or there are none
