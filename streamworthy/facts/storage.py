"""Where the model's shards lie: mounts, block devices, free space and random-read latency."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """One line of mountinfo, octal escapes undone."""

    mount_id: int
    parent_id: int
    major_minor: str  # "259:2"; major 0 is an anonymous number: btrfs, overlay, zfs, tmpfs, network
    root: str  # the part of the filesystem that is mounted: "/" or the source folder of a bind mount
    mount_point: str
    options: tuple[str, ...]  # per mount point: rw, noatime, ...
    fstype: str
    source: str
    super_options: tuple[str, ...]  # per filesystem: compress=zstd:1, upperdir=..., ...
    network: str | None  # the kind of remote or relayed filesystem ("9p", "nfs4", "fuse.sshfs"); None: local


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockLeaf:
    """One whole disk below a filesystem, reached through partitions, dm, md, bcache and loop.

    ``transport`` is one of nvme, nvme-fabrics, sata, sas, usb, sd, emmc, ufs, pmem, virtio, vmware, hyperv, xen,
    emulated (a drive that a hypervisor or a cloud makes up), raid (a controller's logical drive), iscsi, fc, nbd,
    rbd, ram, loop (backing file not found), unknown.
    """

    name: str
    major_minor: str
    transport: str
    rotational: bool | None  # queue/rotational as the kernel says; None where sysfs lacks it
    flags_are_evidence: bool  # False: hypervisor, RAID controller or USB bridge, which do not pass the medium on
    model: str | None  # None: virtio disks and logical volumes have none
    size_bytes: int
    read_ahead_bytes: int | None  # None where sysfs lacks queue/read_ahead_kb
    chain: tuple[str, ...]  # devices passed, from the mounted one to the leaf: ("dm-1", "dm-0", "nvme0n1p3", "nvme0n1")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLimit:
    """What a control group lets be read from one device; None: as much as it gives."""

    group: str  # "/docker/0123"
    file: str  # where it is set: "/sys/fs/cgroup/docker/0123/io.max"
    device: str  # "nvme0n1"
    major_minor: str
    drives_count: int  # of its volume, which may be read at once: 1 where all reads pass this device
    bytes_per_second: int | None
    reads_per_second: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLimitFacts:
    """Limits of control groups that bind reads of the model's disks."""

    limits: tuple[ReadLimit, ...]
    devices: tuple[str, ...]  # that were looked for, each once
    unknown: str  # why not all devices are known; "" when they are


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """One file of the model that is there."""

    path: str  # as named by the user
    real_path: str  # links followed
    size_bytes: int
    allocated_bytes: int  # st_blocks x 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """The answer of statvfs(3) in bytes."""

    total_bytes: int
    free_bytes: int  # f_bfree: with the blocks reserved for root
    available_bytes: int  # f_bavail: for everyone


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """One mount that holds shards, or will hold the missing ones."""

    mount: Mount
    beneath: tuple[Mount, ...]  # passed on the way down: overlay's layer, the filesystem of a loop device's file
    leaves: tuple[BlockLeaf, ...]  # empty: no block device, or not found (``leaves_unknown`` says which)
    leaves_unknown: str | None  # why the leaves could not be found; None: they were, or there are none to find
    space: Space | None  # None: statvfs gave no answer
    shards: tuple[str, ...]  # real paths
    shard_bytes: int  # apparent sizes of the shards placed here
    allocated_bytes: int  # disk blocks that these shards hold
    encoded_shards: tuple[str, ...] | None  # shards stored compressed, by FIEMAP; None: the filesystem cannot say


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumesFacts:
    """All volumes of one model, in the order in which its shards name them."""

    volumes: tuple[Volume, ...]
    home: str  # mount point of the model's folder: where missing shards will be put
    folder: str  # that folder, links followed
    set_total_bytes: int | None  # of the whole set, also while shards are missing; None: not known

    @property
    def missing_bytes(self) -> int:
        """What is still to be downloaded; 0 when that is not known."""
        return max(0, (self.set_total_bytes or 0) - sum(volume.shard_bytes for volume in self.volumes))


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """The room for the missing shards, asked of the filesystem itself and given back: quotas hide behind statvfs."""

    folder: str
    size_bytes: int  # that was asked for; 0 when nothing was
    error: str  # "EDQUOT", "ENOSPC"; empty when it was given
    not_asked: str  # why nothing was asked; empty when it was


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomReads:
    """4 KiB reads at random offsets that reached a device, one at a time."""

    method: str
    latencies_seconds: tuple[float, ...]  # in the order taken; empty when a captured machine kept only the summary
    read_count: int
    median_seconds: float
    p99_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeLatency:
    """Random-read latency of one volume."""

    mount_point: str
    reads: RandomReads | None  # None: not measured, ``reason`` says why
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyFacts:
    """Random-read latency of each volume, in the order of VolumesFacts."""

    volumes: tuple[VolumeLatency, ...]
