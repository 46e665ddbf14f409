"""How the disks are found that the kernel does not name: what the user can ask, by kind of volume. Pure."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamworthy.facts.storage import BlockLeaf, Volume

_IF_NVME = "# if all of them are NVMe drives, waive storage.rotational and storage.transport for this machine"
_ZFS_FIX = ("lsblk -d -o NAME,TRAN,ROTA,SIZE,MODEL", _IF_NVME, "# else: ext4 or xfs on an NVMe drive, with the shards")
_ELSEWHERE = ("run on the host itself, or mount a folder of the host that lies on one disk",)
_THERE = ("run on the machine itself, with the shards in place and readable",)


def finding_disks(volume: Volume) -> tuple[str, ...]:
    """Say how to learn which disks lie below a volume that names none."""
    if volume.mount.fstype == "zfs":
        return (_pool(volume.mount.source.partition("/")[0]), *_ZFS_FIX)
    return _ELSEWHERE


def settling_medium(volume: Volume) -> tuple[str, ...]:
    """Say what settles whether disks spin that neither flags nor random reads tell about."""
    return finding_disks(volume) if volume.mount.fstype == "zfs" else _THERE


def unplaced(leaf: BlockLeaf) -> tuple[str, tuple[str, ...]]:
    """Say why a device's attachment is not known, and what shows it."""
    name = leaf.name
    if name.startswith("zd"):
        return f"{name} is a ZFS volume, and the kernel does not name the disks of its pool", (_pool(""), *_ZFS_FIX)
    if name.startswith("dm-"):
        cause = f"{name} is mapped to no device: its disk is missing, or it is mapped to nothing on purpose"
        return cause, (f"sudo dmsetup table /dev/{name}; sudo dmsetup ls --tree",)
    if name.startswith("md"):
        return f"{name} is an array without members", ("cat /proc/mdstat",)
    return f"how {name} is attached cannot be read off its device path", (
        f"readlink -f /sys/block/{name}  # report this path to the project",
    )


def _pool(name: str) -> str:
    return f"zpool status -LP {shlex.quote(name)}".removesuffix(" ''") + "  # names the disks of the pool"
