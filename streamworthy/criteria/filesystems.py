"""The filesystems below one volume, judged by their type and by compression. Pure."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from streamworthy.criteria.filesystem_types import (
    COMPRESSING,
    advice_of,
    cause_of,
    decompressing,
    moving,
    network_cause,
)
from streamworthy.criteria.finding import Finding
from streamworthy.verdict import Word

if TYPE_CHECKING:
    from collections.abc import Collection

    from streamworthy.facts.storage import Mount, Volume

_UNSEEN_FIX = (
    "# mount a folder of the host into the container: --volume /path/on/the/host:/models, and give --model /models",
)
_ON_DISKS = frozenset(("bcachefs", "btrfs", "zfs"))  # on disks of this machine, though their numbers are anonymous
_STORED_SHARE = 0.97  # ZFS counts stored blocks: below this a file has been compressed or has holes


def judge_filesystem(volume: Volume, accept: Collection[str], advise: Collection[str]) -> list[Finding]:
    """Judge one volume's filesystem and those beneath it: overlay by its layers, a loop device by its file's too."""
    mounts = (volume.mount, *volume.beneath)
    if "overlay" not in (*accept, *advise):
        if volume.mount.fstype == "overlay" and not volume.beneath and volume.leaves_unknown is not None:
            return [_unseen(volume)]
        mounts = tuple(each for each in mounts if each.fstype != "overlay") or mounts
    return [_type_of(volume, each, accept, advise) for each in mounts]


def _type_of(volume: Volume, mount: Mount, accept: Collection[str], advise: Collection[str]) -> Finding:
    fstype, measured = mount.fstype, _name(volume, mount)
    compressed = _compression(volume, mount)
    if fstype not in accept and fstype not in advise:
        fix = leaving(volume, mount)
        return Finding(word=Word.FAIL, measured=measured, cause=f"{measured}: {cause_of(fstype)}", fix=fix)
    if compressed:
        cause = f"{measured} {compressed}: each page fault decompresses a whole block"
        fix = decompressing(fstype, mount.mount_point, next(iter(volume.shards), ""))
        return Finding(word=Word.FAIL, measured=f"{measured}, compressed", cause=cause, fix=fix)
    if fstype in advise:
        compressing = fstype in COMPRESSING
        fix = (f"# keep compression off for {_folder(volume)}",) if compressing else leaving(volume, mount)
        return Finding(word=Word.ADVICE, measured=measured, cause=f"{measured}: {advice_of(fstype)}", fix=fix)
    return Finding(word=Word.PASS, measured=measured, cause="", fix=())


def _compression(volume: Volume, mount: Mount) -> str:
    """Say how shards are stored compressed; empty where they are not."""
    if mount is volume.mount and volume.encoded_shards is not None:
        count = len(volume.encoded_shards)
        return f"stores {count} of {len(volume.shards)} shards compressed" if count else ""
    if mount is volume.mount and mount.fstype == "zfs" and volume.allocated_bytes < _STORED_SHARE * volume.shard_bytes:
        return "stores the shards in fewer blocks than they have bytes"
    options = [option for option in mount.super_options if _compresses(mount.fstype, option)]
    return f"is mounted with {','.join(options)}" if options else ""


def _compresses(fstype: str, option: str) -> bool:
    key, _, value = option.partition("=")
    if fstype == "btrfs":
        return key in ("compress", "compress-force") and value not in ("no", "none")
    # f2fs names an algorithm even where nothing is compressed; the list of file name endings says what is
    return fstype == "f2fs" and key == "compress_extension" and value in ("*", "gguf")


def network_findings(volume: Volume) -> list[Finding]:
    """Judge whether a volume, and what lies beneath it, is local."""
    if volume.mount.fstype == "overlay" and not volume.beneath and volume.leaves_unknown is not None:
        return [_unseen(volume)]
    return [_local_or_not(volume, mount) for mount in (volume.mount, *volume.beneath)]


def _local_or_not(volume: Volume, mount: Mount) -> Finding:
    if mount.network is None and mount is volume.mount and _may_be_far(volume):
        cause = f"{mount.fstype} names no disk of this machine (source {mount.source}), so its reads may leave it"
        fix = (f"findmnt --target {shlex.quote(mount.mount_point)}", *leaving(volume, mount))
        return Finding(word=Word.ERROR, measured=f"unknown at {mount.mount_point}", cause=cause, fix=fix)
    if mount.network is None:
        return Finding(word=Word.PASS, measured=f"local at {mount.mount_point}", cause="", fix=())
    measured = _name(volume, mount)
    cause = f"{measured}: {network_cause(mount.fstype) or 'each read leaves this machine'}"
    return Finding(word=Word.FAIL, measured=measured, cause=cause, fix=leaving(volume, mount))


def _may_be_far(volume: Volume) -> bool:
    unseen = volume.leaves_unknown is not None and not volume.leaves and not volume.beneath
    return unseen and volume.mount.major_minor.startswith("0:") and volume.mount.fstype not in _ON_DISKS


def leaving(volume: Volume, mount: Mount) -> tuple[str, ...]:
    """Give the lines that move the shards away from a mount, to where they are read from a disk."""
    if mount.fstype == "9p" and any(option.startswith("aname=drvfs") for option in mount.super_options):
        return (
            f"mkdir -p ~/models && cp --verbose {shlex.quote(_folder(volume))}/*.gguf ~/models/  # on WSL2's own ext4",
            "wsl.exe --mount '\\\\.\\PHYSICALDRIVE1' --bare  # or give WSL2 a whole NVMe drive, formatted ext4",
        )
    return moving(_folder(volume))


def _unseen(volume: Volume) -> Finding:
    return Finding(
        word=Word.ERROR,
        measured=f"overlay at {volume.mount.mount_point}",
        cause=f"what holds the files is not known: {volume.leaves_unknown}",
        fix=_UNSEEN_FIX,
    )


def _name(volume: Volume, mount: Mount) -> str:
    beneath = "" if mount is volume.mount else f", beneath {volume.mount.mount_point}"
    return f"{mount.fstype} at {mount.mount_point}{beneath}"


def _folder(volume: Volume) -> str:
    return volume.shards[0].rpartition("/")[0] if volume.shards else volume.mount.mount_point
