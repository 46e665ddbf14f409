"""One disk: does it spin, and how is it attached? Flags where they are evidence, latency where they are not. Pure."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from streamworthy.criteria.filesystems import leaving
from streamworthy.criteria.finding import Finding
from streamworthy.criteria.unseen_disks import finding_disks, settling_medium, unplaced
from streamworthy.criteria.virtual_disks import about_flag, faster
from streamworthy.units import format_seconds
from streamworthy.verdict import Word

if TYPE_CHECKING:
    from collections.abc import Collection

    from streamworthy.facts.storage import BlockLeaf, Mount, Volume, VolumeLatency

VIRTUAL = frozenset(("virtio", "vmware", "hyperv", "xen", "emulated"))
_MEASURED = VIRTUAL | {"raid"}  # whose medium only a measurement can tell

_TRANSPORT_CAUSES = {
    "usb": "behind USB a drive has one bridge's speed and queue, whatever drive is in the case",
    "sata": "SATA gives at most 0.6 GB/s and 32 reads at a time",
    "sas": "SAS gives at most 2.4 GB/s for one drive, and its disks often spin",
    "sd": "SD cards give about 0.1 GB/s",
    "emmc": "eMMC gives about 0.3 GB/s",
    "ufs": "UFS is phone storage, with few reads at a time",
    "ram": "a RAM disk takes the memory that should cache the shards",
    "raid": "a RAID controller hides its drives, so that what they are is not known",
    "memory": "the files lie in memory, not on a drive",
}
_OVER_NETWORK = "each read crosses a network"
_NVME_FIX = ("lsblk -d -o NAME,TRAN,ROTA,SIZE,MODEL  # find an NVMe drive of this machine and move the shards there",)
# Azure's direct, Amazon's instance-store and Google's local disks; "nvme_card-pd" is a lasting volume.
_EPHEMERAL = re.compile(r"Microsoft NVMe Direct Disk|Amazon EC2 NVMe Instance Storage|nvme_card(?!-pd)")
_EPHEMERAL_FIX = (
    "# keep a copy of the shards on a lasting disk or in object storage, and copy them back after a start",
)
_USB_FIX = ("# take the drive out of its case and put it into an M.2 slot of this machine", *_NVME_FIX)


def judge_medium(volume: Volume, latency: VolumeLatency | None, at_most_seconds: float) -> list[Finding]:
    """Judge whether the disks below one volume spin."""
    if volume.leaves:
        return [_medium_of(leaf, volume, latency, at_most_seconds) for leaf in volume.leaves]
    if volume.leaves_unknown is not None:
        name = f"disks below {volume.mount.mount_point}"
        found = _by_latency(name, volume.leaves_unknown, latency, at_most_seconds)
        return [replace(found, fix=settling_medium(volume)) if found.word is Word.ERROR else found]
    reason = "no disk of this machine lies below it"
    return [Finding(word=Word.NOT_APPLICABLE, measured=_where(volume), cause=reason, fix=())]


def _medium_of(leaf: BlockLeaf, volume: Volume, latency: VolumeLatency | None, at_most_seconds: float) -> Finding:
    name = describe(leaf)
    if not leaf.flags_are_evidence:
        found = _by_latency(name, _why_flags_say_nothing(leaf), latency, at_most_seconds)
        return _for_virtual(found, leaf)
    if leaf.rotational:
        where = f"{leaf.name} below {volume.mount.mount_point}"
        cause = f"{where} spins: about 10 ms for each random read{_cached(leaf, volume)}"
        return Finding(word=Word.FAIL, measured=f"{name} spinning", cause=cause, fix=_NVME_FIX)
    return Finding(word=Word.PASS, measured=f"{name} not spinning", cause="", fix=())


def _for_virtual(found: Finding, leaf: BlockLeaf) -> Finding:
    if found.word is Word.FAIL:
        return replace(found, fix=faster(leaf) or found.fix)
    return replace(found, fix=(*found.fix, *about_flag(leaf))) if found.word is Word.ERROR else found


def _cached(leaf: BlockLeaf, volume: Volume) -> str:
    cache = next((name for name in leaf.chain if name.startswith("bcache")), "")
    if cache:
        return f"; {cache} keeps only a part of it on flash"
    # a cache made by dm-cache, and a volume that spans both, look alike here: in either the flash holds a part
    flash = [each.name for each in volume.leaves if each.flags_are_evidence and not each.rotational]
    return f"; only what lies, or is cached, on {', '.join(flash)} is on flash" if flash else ""


def _why_flags_say_nothing(leaf: BlockLeaf) -> str:
    flag = {True: "spinning", False: "not spinning", None: "nothing"}[leaf.rotational]
    return f"the flag of {leaf.name} ({leaf.transport}) says {flag}, which is no evidence there"


def _by_latency(name: str, why: str, latency: VolumeLatency | None, at_most_seconds: float) -> Finding:
    if latency is None or latency.reads is None:
        reason = latency.reason if latency else "no latency was measured"
        return Finding(
            word=Word.ERROR,
            measured=f"{name} unknown",
            cause=f"{why}, and random reads do not settle it: {reason}",
            fix=("run on the machine itself, with the shards in place and readable",),
        )
    median = format_seconds(latency.reads.median_seconds)
    if latency.reads.median_seconds <= at_most_seconds:
        return Finding(word=Word.PASS, measured=f"{name}, {median} a random read", cause="", fix=())
    cause = f"{name} answers a random read in {median}, as slow as a spinning disk ({why})"
    return Finding(word=Word.FAIL, measured=f"{name}, {median} a random read", cause=cause, fix=_NVME_FIX)


def judge_transport(
    volume: Volume, latency: VolumeLatency | None, accept: Collection[str], at_most_seconds: float
) -> list[Finding]:
    """Judge how the disks below one volume are attached."""
    if volume.leaves:
        return [_transport_of(leaf, latency, accept, at_most_seconds) for leaf in volume.leaves]
    if volume.leaves_unknown is not None:
        cause = f"how the disks are attached is not known: {volume.leaves_unknown}"
        measured = f"unknown at {volume.mount.mount_point}"
        return [Finding(word=Word.ERROR, measured=measured, cause=cause, fix=finding_disks(volume))]
    ground = _ground(volume)
    words = (ground.network, "network") if ground.network else ("memory",)
    if any(word in accept for word in words):
        return [Finding(word=Word.PASS, measured=_where(volume), cause="", fix=())]
    cause = f"{_where(volume)} is no drive of this machine"
    return [Finding(word=Word.FAIL, measured=_where(volume), cause=cause, fix=leaving(volume, ground))]


def _transport_of(
    leaf: BlockLeaf, latency: VolumeLatency | None, accept: Collection[str], at_most_seconds: float
) -> Finding:
    name, word = describe(leaf), leaf.transport
    asked = word in accept or (word in VIRTUAL and "virtual" in accept)
    if asked and word in _MEASURED:
        found = _for_virtual(_by_latency(name, _why_flags_say_nothing(leaf), latency, at_most_seconds), leaf)
        return _not_answering_in_time(found, name, at_most_seconds) if found.word is Word.FAIL else found
    if asked and _EPHEMERAL.match(leaf.model or ""):
        cause = f"{name} is lent by the cloud: the model is lost when the machine is deallocated or stopped"
        return Finding(word=Word.ADVICE, measured=name, cause=cause, fix=_EPHEMERAL_FIX)
    if asked:
        return Finding(word=Word.PASS, measured=name, cause="", fix=())
    if word in ("unknown", "loop"):
        cause, fix = unplaced(leaf)
        return Finding(word=Word.ERROR, measured=name, cause=cause, fix=fix)
    default = "a virtual disk is not accepted" if word in VIRTUAL else _OVER_NETWORK
    cause = f"{leaf.name} is attached by {word}: {_TRANSPORT_CAUSES.get(word, default)}"
    return Finding(word=Word.FAIL, measured=name, cause=cause, fix=_USB_FIX if word == "usb" else _NVME_FIX)


def _not_answering_in_time(found: Finding, name: str, at_most_seconds: float) -> Finding:
    limit = format_seconds(at_most_seconds)
    cause = f"{name} answers a random read in more than {limit}: a volume over a network, a busy host or a slow medium"
    return replace(found, cause=cause)


def describe(leaf: BlockLeaf) -> str:
    """Name a disk for people: ``nvme0n1 (nvme, Samsung SSD 990 PRO 2TB)``."""
    return f"{leaf.name} ({', '.join(part for part in (leaf.transport, leaf.model) if part)})"


def _where(volume: Volume) -> str:
    ground = _ground(volume)
    beneath = "" if ground is volume.mount else f", beneath {volume.mount.mount_point}"
    return f"{ground.network or ground.fstype} at {ground.mount_point}{beneath}"


def _ground(volume: Volume) -> Mount:
    """Give the mount that keeps the bytes where no disk is below: the remote one if there is one, else the lowest."""
    mounts = (volume.mount, *volume.beneath)
    return next((mount for mount in mounts if mount.network), mounts[-1])
