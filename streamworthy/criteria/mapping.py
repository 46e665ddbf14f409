"""Whether each shard can be mapped as the engine maps it. Pure."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from streamworthy.criteria.filesystem_types import moving
from streamworthy.criteria.finding import Finding
from streamworthy.units import format_counted, format_seconds
from streamworthy.verdict import Word

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamworthy.facts.mapping import MappingFacts, ShardMap, VolumeMaps

_DONE = {"open": "opened", "direct": "read directly", "map": "mapped", "touch": "touched after mapping"}
_DMESG = "sudo dmesg | tail  # shows read errors of the drive"


def judge_mapping(volume: VolumeMaps, deadline_seconds: float) -> Iterator[Finding]:
    """Judge one volume: shards that end the same way are one finding."""
    kinds: dict[tuple[str, str], list[ShardMap]] = {}
    for shard in volume.shards:
        kinds.setdefault((shard.refused_at, shard.error), []).append(shard)
    for shards in kinds.values():
        count = f"{len(shards)} of {format_counted(len(volume.shards), 'shard')}"
        name = f"{count} on {volume.fstype} at {volume.mount_point}"
        if not shards[0].refused_at:
            yield Finding(word=Word.PASS, measured=f"{name} mapped", cause="", fix=())
        else:
            yield _refused(volume, shards[0], name, deadline_seconds)


def _refused(volume: VolumeMaps, shard: ShardMap, name: str, deadline_seconds: float) -> Finding:
    step, error, path, where = shard.refused_at, shard.error, shard.path, f"{volume.fstype} at {volume.mount_point}"
    word, measured = Word.FAIL, f"{name}: {error}"
    fix: tuple[str, ...]
    if error == "silent":
        word, measured, fix = Word.ERROR, f"{name}: no answer", (_DMESG,)
        disks = ", ".join(volume.disks) or where
        cause = f"{disks}: {path} gave no answer in {format_seconds(deadline_seconds)} ({_DONE[step]}): the disk hangs"
    elif step == "open":
        word, fix = Word.ERROR, (f"ls -l {shlex.quote(path)}",)
        cause = f"{path} cannot be opened ({error}), so whether it can be mapped is not known"
    elif error in ("EIO", "SIGBUS"):
        fix = (_DMESG, _copying(path))
        cause = f"{path}: its first page cannot be read ({error}, {_DONE[step]}): the drive has a read error"
    elif error == "ENODEV":
        fix = _mapping_again(volume, path.rpartition("/")[0])
        cause = f"{where} refuses a shared mapping ({error}): the engine says 'mmap failed: No such device'"
    elif error == "ENOMEM":
        fix = ("ulimit -v  # see the gate memory.address_space", "sysctl vm.max_map_count vm.overcommit_memory")
        cause = f"{path} cannot be mapped ({error}): a limit on this process's address space or maps, not {where}"
    elif error in ("EACCES", "EPERM"):
        fix = (
            "sudo ausearch -m avc -ts recent | tail",
            f"ls -lZ {shlex.quote(path)}; sudo restorecon -v {shlex.quote(path)}",
        )
        cause = f"{path} may be opened and not mapped ({error}): a security policy (SELinux, a sandbox) forbids it"
    else:
        fix = moving(path.rpartition("/")[0])
        cause = f"{where} refuses a shared mapping of {path}: {error} ({_DONE[step]})"
    return Finding(word=word, measured=measured, cause=cause, fix=fix)


def _copying(path: str) -> str:
    quoted = shlex.quote(path)
    return f"mv {quoted} {shlex.quote(path + '.damaged')}  # then download it again, to another drive if it fails"


def _mapping_again(volume: VolumeMaps, folder: str) -> tuple[str, ...]:
    point = shlex.quote(volume.mount_point)
    if volume.fstype == "fuse.mergerfs":
        return (
            f"# in the options of {point} in /etc/fstab: cache.files=auto-full,dropcacheonclose=true",
            f"sudo umount {point} && sudo mount {point}",
        )
    if volume.fstype == "9p":
        return (f"# mount {point} with the option cache=mmap", *moving(folder))
    if volume.fstype.startswith("fuse"):
        return (f"# mount {point} without the option direct_io (a cache of files has to be allowed)", *moving(folder))
    return moving(folder)


def mapping_evidence(facts: MappingFacts) -> tuple[str, ...]:
    """Say for each volume how direct reads were answered: none is fine, since the engine does not use them."""
    return tuple(
        f"direct_read_at_{volume.mount_point}={'; '.join(dict.fromkeys(_directs(volume)))}" for volume in facts.volumes
    )


def _directs(volume: VolumeMaps) -> Iterator[str]:
    answered = [each.direct_seconds for each in volume.shards if each.direct_seconds is not None]
    if answered:
        yield f"{len(answered)} answered, the slowest in {format_seconds(max(answered))}"
    yield from (f"none ({each.direct_error})" for each in volume.shards if each.direct_error)
