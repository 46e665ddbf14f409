"""Block devices: from a device number down to the whole disks that hold the bytes.

Source: sysfs, Documentation/ABI/stable/sysfs-block and testing/sysfs-block-*: /sys/dev/block/MAJOR:MINOR (since
2.6.27), slaves/, partition, dm/name, loop/backing_file (since 2.6.37), queue/rotational (since 2.6.29); md/level and
md/dev-NAME/state, Documentation/admin-guide/md.rst.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from streamworthy.errors import ParseError, ProbeError
from streamworthy.facts.storage import BlockLeaf
from streamworthy.probes.device_numbers import devices_of_mount
from streamworthy.probes.mountinfo import has_no_disk, probe_mount_of, probe_mounts
from streamworthy.probes.transport import flags_are_evidence, probe_transport

if TYPE_CHECKING:
    from streamworthy.facts.storage import Mount
    from streamworthy.probes.sysroot import Sysroot

_NUMBER = re.compile(r"[0-9]{1,20}")
_SECTOR_BYTES = 512  # sysfs counts sectors of 512 bytes whatever the disk's own sector is


def leaves_of(root: Sysroot, major_minor: str) -> tuple[BlockLeaf, ...]:
    """Find every whole disk below a device, by number: through partitions, dm, md, bcache and loop.

    ProbeError when sysfs does not know the number or a loop device's file cannot be followed to a disk.
    """
    leaves, beneath = follow(root, major_minor)
    if not leaves:
        places = ", ".join(f"{mount.fstype} at {mount.mount_point}" for mount in beneath)
        raise ProbeError(f"device {major_minor}: its file lies on {places}: no disk of this machine")
    return leaves


def follow(root: Sysroot, major_minor: str) -> tuple[tuple[BlockLeaf, ...], tuple[Mount, ...]]:
    """Find the leaves as :func:`leaves_of` does, and the mounts that loop devices' files lie on.

    A file in memory, on a network or behind FUSE has no leaf: its mount says so.
    """
    beneath: list[Mount] = []
    found = _descend(root, _folder_of(root, major_minor), (), beneath)
    return tuple({leaf.major_minor: leaf for leaf in reversed(found)}.values())[::-1], tuple(beneath)


def _folder_of(root: Sysroot, major_minor: str) -> str:
    folder = root.resolve(f"sys/dev/block/{major_minor}")
    if folder is None:
        raise ProbeError(f"device {major_minor}: /sys/dev/block/{major_minor} does not exist")
    return folder


def _descend(root: Sysroot, folder: str, passed: tuple[str, ...], beneath: list[Mount]) -> list[BlockLeaf]:
    name = folder.rpartition("/")[2]
    if name in passed:
        raise ProbeError(f"/{folder}: stacked on itself: {' -> '.join((*passed, name))}")
    chain = (*passed, name)
    if root.exists(f"{folder}/partition"):
        return _descend(root, folder.rpartition("/")[0], chain, beneath)
    slaves = _read_from(root, folder, root.names(f"{folder}/slaves"))
    if slaves:
        return [leaf for slave in slaves for leaf in _descend(root, _slave(root, folder, slave), chain, beneath)]
    backing = _read(root, f"{folder}/loop/backing_file")
    if backing is not None:
        return _behind_loop(root, name, backing, chain, beneath)
    return [_leaf(root, folder, chain)]


def _read_from(root: Sysroot, folder: str, slaves: tuple[str, ...]) -> tuple[str, ...]:
    """Leave out the members that an md array does not read: spares, failed ones, and a mirror's that is for writes."""
    states = {name: {*(_read(root, f"{folder}/md/dev-{name}/state") or "").split(",")} for name in slaves}
    serving = [name for name in slaves if not states[name] & {"faulty", "spare", "journal"}]
    if _read(root, f"{folder}/md/level") == "raid1":
        asked = [name for name in serving if not states[name] & {"write_mostly", "writemostly"}]
        serving = asked or serving
    return tuple(serving) or slaves


def _slave(root: Sysroot, folder: str, slave: str) -> str:
    target = root.resolve(f"{folder}/slaves/{slave}")
    if target is None:
        raise ProbeError(f"/{folder}/slaves/{slave}: leads nowhere")
    return target


def _behind_loop(
    root: Sysroot, name: str, backing: str, chain: tuple[str, ...], beneath: list[Mount]
) -> list[BlockLeaf]:
    mount = probe_mount_of(root, probe_mounts(root), backing.removesuffix(" (deleted)"))
    beneath.append(mount)
    if has_no_disk(mount):
        return []
    devices = devices_of_mount(root, mount)
    if not devices:
        raise ProbeError(f"{name}: its file {backing} lies on {mount.fstype} at {mount.mount_point}: no block device")
    return [leaf for each in devices for leaf in _descend(root, _folder_of(root, each), chain, beneath)]


def _leaf(root: Sysroot, folder: str, chain: tuple[str, ...]) -> BlockLeaf:
    flag = _read_number(root, f"{folder}/queue/rotational")
    read_ahead_kib = _read_number(root, f"{folder}/queue/read_ahead_kb")
    rotational = None if flag is None else bool(flag)
    transport = probe_transport(root, folder)
    return BlockLeaf(
        name=chain[-1],
        major_minor=root.read_text(f"{folder}/dev").strip(),
        transport=transport,
        rotational=rotational,
        flags_are_evidence=flags_are_evidence(transport, rotational=rotational),
        model=_model(root, folder),
        size_bytes=(_read_number(root, f"{folder}/size") or 0) * _SECTOR_BYTES,
        read_ahead_bytes=None if read_ahead_kib is None else read_ahead_kib * 2**10,
        chain=chain,
    )


def _model(root: Sysroot, folder: str) -> str | None:
    # SCSI and NVMe call it model, MMC and SD call it name
    return _read(root, f"{folder}/device/model") or _read(root, f"{folder}/device/name")


def _read(root: Sysroot, name: str) -> str | None:
    text = root.read_optional(name)
    return None if text is None else text.strip() or None


def _read_number(root: Sysroot, name: str) -> int | None:
    text = _read(root, name)
    if text is None:
        return None
    if _NUMBER.fullmatch(text) is None:
        raise ParseError("block device attribute", where=f"/{name}", line=1, found=text, expected="a whole number")
    return int(text)
