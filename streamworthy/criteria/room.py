"""How much room each filesystem has for the set. Pure."""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamworthy.criteria.finding import Finding
from streamworthy.units import format_bytes, format_ratio, format_share
from streamworthy.verdict import Word

if TYPE_CHECKING:
    from streamworthy.facts.storage import Allocation, Mount, Volume, VolumesFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """One filesystem, which bind mounts may show at several places."""

    mount_point: str
    share_bytes: int  # of the set, placed or still to come
    missing_bytes: int  # of them still to come
    writable: bool  # False: what is missing would be put into a read-only mount
    sealed: bool  # the filesystem itself is read-only, at each of its mounts
    room_bytes: int | None  # available plus what is placed; None: statvfs gave no answer
    reserve_bytes: int  # free, and not for everyone

    @property
    def ratio(self) -> float | None:
        """Give room as a multiple of the share; None where either is not known."""
        return None if self.room_bytes is None or not self.share_bytes else self.room_bytes / self.share_bytes


def rooms_of(facts: VolumesFacts) -> list[Room]:
    """Group volumes by filesystem, and put what is missing of the set where the model's folder is."""
    groups: dict[str, list[Volume]] = {}
    for volume in facts.volumes:
        groups.setdefault(volume.mount.major_minor, []).append(volume)
    return [
        _room(
            volumes,
            facts.home,
            facts.missing_bytes if any(each.mount.mount_point == facts.home for each in volumes) else 0,
        )
        for volumes in groups.values()
    ]


def _room(volumes: list[Volume], home: str, missing_bytes: int) -> Room:
    space, mounts = volumes[0].space, [volume.mount for volume in volumes]
    placed = sum(volume.allocated_bytes for volume in volumes)
    return Room(
        mount_point=volumes[0].mount.mount_point,
        share_bytes=sum(volume.shard_bytes for volume in volumes) + missing_bytes,
        missing_bytes=missing_bytes,
        writable=not any("ro" in mount.options or is_sealed(mount) for mount in mounts if mount.mount_point == home),
        sealed=all(is_sealed(mount) for mount in mounts),
        room_bytes=space.available_bytes + placed if space is not None and space.total_bytes else None,
        reserve_bytes=space.free_bytes - space.available_bytes if space is not None else 0,
    )


def is_sealed(mount: Mount) -> bool:
    """Tell whether nothing can be written to a filesystem, through whichever mount: an image, or ext4 with ro."""
    return "ro" in mount.super_options


def judge_room(room: Room, at_least: float) -> Finding:
    """Judge one filesystem's room against a multiple of the set's share on it."""
    if room.missing_bytes and not room.writable:
        return _closed(room)
    if room.sealed and room.share_bytes:
        return _nothing_to_come(room.mount_point, "and holds its part of the set whole")
    if room.ratio is None:
        empty = f"the set has no bytes at {room.mount_point}"
        cause = f"statvfs of {room.mount_point} gives no size" if room.room_bytes is None else empty
        return Finding(
            word=Word.ERROR, measured=f"unknown at {room.mount_point}", cause=cause, fix=(_df(room.mount_point),)
        )
    measured = f"{format_ratio(room.ratio)} of {format_bytes(room.share_bytes)} at {room.mount_point}"
    if room.ratio >= at_least:
        return Finding(word=Word.PASS, measured=measured, cause="", fix=())
    lacking = math.ceil(at_least * room.share_bytes) - (room.room_bytes or 0)
    cause = f"{room.mount_point} lacks {format_bytes(lacking)} of the room that the set needs there"
    fix = _freeing(room.mount_point)
    if room.reserve_bytes >= lacking:
        cause += f"; {format_bytes(room.reserve_bytes)} more are free but reserved, on ext4 for root"
        fix = (f"sudo tune2fs -m 0 $(findmnt -no SOURCE {shlex.quote(room.mount_point)})  # ext4", *fix)
    return Finding(word=Word.FAIL, measured=measured, cause=cause, fix=fix)


def judge_allocation(asked: Allocation) -> list[Finding]:
    """Judge what the filesystem said when it was asked for the room of the missing shards: a finding if it refused."""
    if not asked.error:
        return []
    folder, size = shlex.quote(asked.folder), format_bytes(asked.size_bytes)
    fix: tuple[str, ...]
    measured = f"{size} refused at {asked.folder} ({asked.error})"
    if asked.error == "EDQUOT":
        cause = f"a quota leaves less than the {size} that are still missing, however much statvfs calls available"
        fix = (
            "quota -s; sudo repquota -s -a  # of users and groups",
            f"sudo btrfs qgroup show -pcre {folder}  # of btrfs; sudo zfs get quota,refquota  # of ZFS",
            "# have the quota raised, or choose a folder without one",
        )
    else:
        cause = f"the filesystem does not give the {size} that are still missing, which statvfs calls available"
        fix = (f"df --block-size=1 {folder}", f"sudo btrfs filesystem usage {folder}  # of btrfs: data and metadata")
    return [Finding(word=Word.FAIL, measured=measured, cause=cause, fix=fix)]


def _closed(room: Room) -> Finding:
    point, missing = room.mount_point, format_bytes(room.missing_bytes)
    return Finding(
        word=Word.FAIL,
        measured=f"read-only at {point}, {missing} missing",
        cause=f"{point} is mounted read-only: the {missing} that are missing cannot be put there",
        fix=(
            f"sudo mount -o remount,rw {shlex.quote(point)}",
            "# squashfs and erofs cannot be: move the shards to a disk, or make the image anew with all of them",
        ),
    )


def _nothing_to_come(point: str, and_so: str) -> Finding:
    cause = f"{point} is a read-only filesystem {and_so}: nothing is written there"
    return Finding(word=Word.NOT_APPLICABLE, measured=f"read-only at {point}", cause=cause, fix=())


def used_share_of(volume: Volume) -> float | None:
    """Give the used share as df does: root's reserve is neither used nor available. None: statvfs gave no answer."""
    if volume.space is None:
        return None
    used = volume.space.total_bytes - volume.space.free_bytes
    whole = used + volume.space.available_bytes
    return used / whole if whole > 0 else None


def judge_used(volume: Volume, at_most: float, advised_at_most: float) -> Finding:
    """Judge how full one filesystem is."""
    point, share = volume.mount.mount_point, used_share_of(volume)
    if is_sealed(volume.mount):
        return _nothing_to_come(point, "and fills no further")
    if share is None:
        cause = f"statvfs of {point} gives no size"
        return Finding(word=Word.ERROR, measured=f"unknown at {point}", cause=cause, fix=(_df(point),))
    measured = f"{format_share(share)} of {point}"
    if share <= min(at_most, advised_at_most):
        return Finding(word=Word.PASS, measured=measured, cause="", fix=())
    cause = f"{point} is {format_share(share)} full: nearly full, files fragment and flash drives slow down"
    word = Word.FAIL if share > at_most else Word.ADVICE
    return Finding(word=word, measured=measured, cause=cause, fix=_freeing(point))


def _df(mount_point: str) -> str:
    return f"df --block-size=1 {shlex.quote(mount_point)}"


def _freeing(mount_point: str) -> tuple[str, ...]:
    return (_df(mount_point), f"du -xh --max-depth=2 {shlex.quote(mount_point)} | sort -h | tail -n 20")
