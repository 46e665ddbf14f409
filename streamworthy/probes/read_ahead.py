"""The read-ahead that a page fault on a shard makes: a setting of the mounted device, not of the disks below it.

Source: Documentation/ABI/stable/sysfs-block (queue/read_ahead_kb), sysfs-class-bdi. An md or dm device and btrfs have
a setting of their own, and the one of their disks then has no say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.facts.disk import ReadAhead, ReadAheadFacts

if TYPE_CHECKING:
    from streamworthy.facts.storage import Volume, VolumesFacts
    from streamworthy.probes.sysroot import Sysroot


def probe_read_ahead(root: Sysroot, facts: VolumesFacts) -> ReadAheadFacts:
    """Find the setting of each volume that holds shards and lies on disks of this machine."""
    volumes = [volume for volume in facts.volumes if volume.shards and volume.leaves]
    return ReadAheadFacts(devices=tuple(_read_ahead(root, volume) for volume in volumes))


def _read_ahead(root: Sysroot, volume: Volume) -> ReadAhead:
    device = _mounted(root, volume.leaves[0].chain)
    if volume.mount.fstype == "btrfs" and (folder := _btrfs(root, volume.leaves[0].chain)):
        setting, match = f"{folder}/bdi/read_ahead_kb", ""
    else:
        setting, match = f"sys/block/{device}/queue/read_ahead_kb", _udev_match(root, device)
    text = (root.read_optional(setting) or "").strip()
    return ReadAhead(
        mount_point=volume.mount.mount_point,
        device=device,
        setting=f"/{setting}",
        read_ahead_bytes=int(text) * 2**10 if text.isdecimal() else None,
        udev_match=match,
        shards_count=len(volume.shards),
    )


def _mounted(root: Sysroot, chain: tuple[str, ...]) -> str:
    """Give the first device of the chain that is no partition: a partition has its disk's setting."""
    whole = (name for name in chain if not root.exists(f"sys/class/block/{name}/partition"))
    return next(whole, chain[-1])


def _btrfs(root: Sysroot, chain: tuple[str, ...]) -> str | None:
    folders = (f"sys/fs/btrfs/{name}" for name in root.names("sys/fs/btrfs"))
    return next((folder for folder in folders if chain[0] in root.names(f"{folder}/devices")), None)


def _udev_match(root: Sysroot, device: str) -> str:
    name = root.read_optional(f"sys/block/{device}/dm/name")
    if name:
        return f'ENV{{DM_NAME}}=="{name.strip()}"'  # dm-0 may be another one at the next boot
    return f'KERNEL=="{device}"'
