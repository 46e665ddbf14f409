"""What each filesystem does to a large mapped file: the cause behind a miss and the way out. Pure."""

from __future__ import annotations

import shlex

_WAY = {
    "9p": "9p relays each read to another system (Windows under WSL2, or the host), at a few hundred MB/s at best",
    "drvfs": "drvfs relays each read to Windows, and mapped files are read through it page by page",
    "fakeowner": "Docker Desktop relays each read of a shared folder to macOS or Windows",
    "virtiofs": "virtiofs relays each read to the host, whose cache and disk this machine cannot judge",
    "nfs": "NFS reads each page over the network, and a stale size shows as a truncated shard",
    "cifs": "SMB reads each page over the network",
    "fuse": "FUSE passes each read through a process, and with direct_io a shared mapping fails with 'No such device'",
}
_SAME_WAY = {"nfs4": "nfs", "smb2": "cifs", "smb3": "cifs", "smbfs": "cifs"}

_ON_DISK = {
    "fuseblk": "fuseblk is a disk driver in user space (ntfs-3g, exfat-fuse): each page fault of a mapped shard is a "
    "message to a process and a copy",
    "ntfs": "the NTFS driver maps large files slowly, run by run",
    "ntfs3": "the ntfs3 driver maps large files slowly, run by run; files above 4 GiB are not the problem",
    "exfat": "exFAT finds each mapped page through a chain of clusters and keeps no journal; files above 4 GiB are not "
    "the problem (that limit is FAT32's)",
    "vfat": "FAT32 cannot hold a file of 4 GiB: a copied shard ends at 4294967295 bytes, often without an error",
    "tmpfs": "tmpfs keeps files in RAM and swap: the shards take the memory that should cache them",
    "overlay": "the overlay's own layers decide, and this tier does not accept them",
    "squashfs": "squashfs is compressed: each page fault decompresses a block",
    "erofs": "erofs images are usually compressed: each page fault decompresses a cluster",
}
_SAME_DISK = {"msdos": "vfat", "ramfs": "tmpfs", "hugetlbfs": "tmpfs", "fat": "vfat"}

_ADVICE = {
    "btrfs": "btrfs verifies a checksum for each block read and fragments files that are rewritten",
    "zfs": "ZFS keeps mapped pages twice, in its own cache (ARC) and in the page cache, so less memory is left",
    "f2fs": "f2fs is seldom used with files of this size",
}
COMPRESSING = frozenset(_ADVICE)  # those that may be mounted so that they compress


def cause_of(fstype: str) -> str:
    """Say what a filesystem that is not accepted costs."""
    way = network_cause(fstype)
    disk = _ON_DISK.get(_SAME_DISK.get(fstype, fstype))
    return way or disk or f"{fstype} is not a filesystem that this tier accepts for mapped shards"


def network_cause(fstype: str) -> str:
    """Say what a remote or relayed filesystem costs; empty for a kind that is not known."""
    kind = "fuse" if fstype.startswith("fuse.") else _SAME_WAY.get(fstype, fstype)
    return _WAY.get(kind, "")


def advice_of(fstype: str) -> str:
    """Say why a filesystem is accepted with advice only."""
    disk = _ON_DISK.get(_SAME_DISK.get(fstype, fstype), f"{fstype} is accepted, others are known better")
    return _ADVICE.get(fstype, disk)


def moving(folder: str) -> tuple[str, ...]:
    """Give the lines that move the shards to a sound volume."""
    return (
        "findmnt --real --types ext4,xfs  # choose one on an NVMe drive",
        f"rsync --archive --progress {shlex.quote(folder.rstrip('/') + '/')} /path/on/that/volume/",
    )


def decompressing(fstype: str, mount_point: str, shard: str) -> tuple[str, ...]:
    """Give the lines that store shards uncompressed."""
    folder = shlex.quote(shard.rpartition("/")[0] or mount_point)
    if fstype == "btrfs":
        return (
            f"btrfs property set {folder} compression none",
            f"btrfs filesystem defragment -r {folder}  # rewrites the shards, uncompressed",
        )
    if fstype == "zfs":
        return (
            f"sudo zfs set compression=off $(findmnt -no SOURCE {shlex.quote(mount_point)})",
            f"# then copy {folder} anew",
        )
    return (f"chattr -R -c {folder}", f"# then copy {folder} anew")
