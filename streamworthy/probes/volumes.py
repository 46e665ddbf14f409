"""The volumes that hold a model: for each, its mount, the disks below it, and its free space.

Sources: mountinfo, sysfs, statvfs(3).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from streamworthy.errors import ProbeError
from streamworthy.facts.storage import Placement, Space, Volume, VolumesFacts
from streamworthy.probes.block import follow
from streamworthy.probes.captured import table, tables, take, take_list
from streamworthy.probes.device_numbers import devices_of_mount
from streamworthy.probes.extents import probe_encoded
from streamworthy.probes.mountinfo import has_no_disk, probe_mount_of, probe_mounts
from streamworthy.probes.overlay import folders_of, parse_layers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from streamworthy.facts.storage import BlockLeaf, Mount
    from streamworthy.probes.sysroot import Sysroot

    Statvfs = Callable[[str], os.statvfs_result]
    Ground = tuple[tuple[BlockLeaf, ...], tuple[Mount, ...]]

_COMPRESSING_FILESYSTEMS = frozenset(("btrfs", "f2fs"))


def probe_volumes(
    root: Sysroot,
    placements: tuple[Placement, ...],
    *,
    folder: str,
    set_total_bytes: int | None,
    statvfs: Statvfs = os.statvfs,
) -> VolumesFacts:
    """Find the volumes of a model's files.

    ``folder`` is the real path of the model's folder: its volume is listed too where files are still missing, for
    they will be put there. ProbeError when mountinfo cannot be read or holds a path nowhere; what one volume does
    not tell is None in its record.
    """
    mounts = probe_mounts(root)
    home = probe_mount_of(root, mounts, folder)
    placed: dict[Mount, list[Placement]] = {}
    for placement in placements:
        placed.setdefault(probe_mount_of(root, mounts, placement.real_path), []).append(placement)
    if not placements or sum(each.size_bytes for each in placements) < (set_total_bytes or 0):
        placed.setdefault(home, [])
    volumes = tuple(
        _volume(root, mounts, mount, files=files, folder=folder, statvfs=statvfs) for mount, files in placed.items()
    )
    return VolumesFacts(volumes=volumes, home=home.mount_point, folder=folder, set_total_bytes=set_total_bytes)


def probe_captured_model(root: Sysroot) -> tuple[tuple[Placement, ...], str, int | None]:
    """Give a captured machine's files of the model, its folder and the set's total, from ``[model]``.

    UsageError when machine.toml has no such table, or a value of it is of the wrong type.
    """
    model = table(root, "model")
    folder = take(root, "model", model, "path", str)
    shards = take_list(root, "model", model, "shards", dict)
    placements = (_captured_placement(root, folder, shard) for shard in shards)
    total = take(root, "model", model, "total_bytes", int) if "total_bytes" in model else None
    return tuple(placements), folder, total


def _captured_placement(root: Sysroot, folder: str, shard: Mapping[str, object]) -> Placement:
    path = f"{folder}/{take(root, 'model.shards', shard, 'name', str)}"
    return Placement(
        path=path,
        real_path=take(root, "model.shards", {"real_path": path, **shard}, "real_path", str),
        size_bytes=take(root, "model.shards", shard, "size_bytes", int),
        allocated_bytes=take(root, "model.shards", shard, "allocated_bytes", int),
    )


def note_model(root: Sysroot, placements: tuple[Placement, ...], *, folder: str, set_total_bytes: int | None) -> None:
    """Note ``[model]`` as :func:`probe_captured_model` reads it."""
    total = {} if set_total_bytes is None else {"total_bytes": set_total_bytes}
    root.note("model", {"path": folder, **total, "shards": [_note_of(each, folder) for each in placements]})


def _note_of(placement: Placement, folder: str) -> dict[str, str | int]:
    name = placement.path.rpartition("/")[2]
    moved = {} if placement.real_path == f"{folder}/{name}" else {"real_path": placement.real_path}
    sizes = {"size_bytes": placement.size_bytes, "allocated_bytes": placement.allocated_bytes}
    return {"name": name, **moved, **sizes}


def _volume(  # noqa: PLR0913 - a volume is these things together
    root: Sysroot, mounts: tuple[Mount, ...], mount: Mount, *, files: list[Placement], folder: str, statvfs: Statvfs
) -> Volume:
    paths = tuple(each.real_path for each in files)
    leaves: tuple[BlockLeaf, ...] = ()
    beneath: tuple[Mount, ...] = ()
    unknown = None
    try:
        leaves, beneath = _ground(root, mounts, mount, paths)
    except ProbeError as error:
        unknown = error.message
    return Volume(
        mount=mount,
        beneath=beneath,
        leaves=leaves,
        leaves_unknown=unknown,
        space=_space(root, mount, (*paths, folder)[0], statvfs),
        shards=paths,
        shard_bytes=sum(each.size_bytes for each in files),
        allocated_bytes=sum(each.allocated_bytes for each in files),
        encoded_shards=_encoded(root, mount, paths) if mount.fstype in _COMPRESSING_FILESYSTEMS else None,
    )


def _encoded(root: Sysroot, mount: Mount, paths: tuple[str, ...]) -> tuple[str, ...] | None:
    if not root.live:
        answers = [each for each in tables(root, "encoded") if each.get("mount") == mount.mount_point]
        return tuple(take_list(root, "encoded", answers[0], "shards", str)) if answers else None
    found = probe_encoded(paths)
    if found is not None:
        root.note("encoded", {"mount": mount.mount_point, "shards": list(found)})
    return found


def _ground(root: Sysroot, mounts: tuple[Mount, ...], mount: Mount, paths: tuple[str, ...]) -> Ground:
    """Go down from a mount to its disks; both parts are empty where there is no disk to find."""
    if has_no_disk(mount):
        return (), ()
    if mount.fstype == "overlay":
        layers = _layers(root, mounts, mount, paths)
        below = [_ground(root, mounts, layer, ()) for layer in layers]
    else:
        layers = ()
        below = [follow(root, device) for device in _devices(root, mount)]
    leaves = {leaf.chain: leaf for found, _ in below for leaf in found}
    return tuple(leaves.values()), (*layers, *(each for _, found in below for each in found))


def _devices(root: Sysroot, mount: Mount) -> tuple[str, ...]:
    devices = devices_of_mount(root, mount)
    if not devices:
        raise ProbeError(f"{mount.mount_point}: {mount.fstype} names no block device (source {mount.source})")
    return devices


def _layers(root: Sysroot, mounts: tuple[Mount, ...], mount: Mount, paths: tuple[str, ...]) -> tuple[Mount, ...]:
    """Find the mounts of the overlay's layers that hold the files; of the writable one for files still to come."""
    layers = parse_layers(mount)
    holding = [folder for path in paths for folder in folders_of(root, mount, layers, path)]
    folders = holding or (*layers.upper, *layers.data, *layers.lower)[:1]
    found = {layer.mount_id: layer for layer in (probe_mount_of(root, mounts, folder) for folder in folders)}
    if not found or mount.mount_id in found:
        raise ProbeError(f"{mount.mount_point}: the overlay's layers lie outside of this container's mounts")
    return tuple(found.values())


def _space(root: Sysroot, mount: Mount, path: str, statvfs: Statvfs) -> Space | None:
    if not root.live:
        return _captured_space(root, mount.mount_point)
    try:
        found = statvfs(path)
    except OSError:
        return None
    sizes = {"frsize": found.f_frsize, "blocks": found.f_blocks, "bfree": found.f_bfree, "bavail": found.f_bavail}
    root.note("statvfs", {"mount": mount.mount_point, **sizes})
    return _space_of(found.f_frsize, found.f_blocks, found.f_bfree, found.f_bavail)


def _captured_space(root: Sysroot, mount_point: str) -> Space | None:
    for answer in tables(root, "statvfs"):
        if take(root, "statvfs", answer, "mount", str) == mount_point:
            return _space_of(
                *(take(root, "statvfs", answer, key, int) for key in ("frsize", "blocks", "bfree", "bavail"))
            )
    return None


def _space_of(frsize: int, blocks: int, bfree: int, bavail: int) -> Space:
    return Space(total_bytes=frsize * blocks, free_bytes=frsize * bfree, available_bytes=frsize * bavail)
