"""What control groups leave this process of memory and CPU time, on the whole way to the root.

/proc/self/cgroup has ``ID:CONTROLLERS:PATH`` a line (cgroups(7)); version 2 is ``0::PATH``. A limit on any ancestor
binds, and version 2 does not copy it to the children. Files: Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from streamworthy.errors import ParseError, ProbeError
from streamworthy.facts.memory import CgroupMemory
from streamworthy.probes.mountinfo import MOUNTINFO, holds, parse_mountinfo

if TYPE_CHECKING:
    from streamworthy.facts.storage import Mount
    from streamworthy.probes.sysroot import Sysroot

_MEMBERSHIP = "proc/self/cgroup"
_HOME = "sys/fs/cgroup"
# "No limit" of version 1 is LONG_MAX rounded down to a page, of 4 KiB to 256 KiB; old kernels wrote 2**63-1 or 2**64-1.
_UNLIMITED = 2**63 - 2**18
_LINE = re.compile(r"([0-9]{1,9}):([^:]*):(/.*)", re.ASCII)
_NUMBER = re.compile(r"-?[0-9]{1,20}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """The group of this process in one hierarchy."""

    version: int
    controllers: tuple[str, ...]  # empty in version 2, where all are in one hierarchy
    path: str  # "/a/b", seen from this control-group namespace


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Folders from the process's group up to the mount of its hierarchy, below the root of the machine."""

    version: int
    folders: tuple[str, ...]  # leaf first
    top: str  # the mount


def parse_memberships(text: str) -> tuple[Membership, ...]:
    """Read /proc/self/cgroup; ParseError names a line of another shape."""
    lines = text.removesuffix("\n").split("\n") if text else ()  # not splitlines(): a group's name may hold other ends
    return tuple(_parse_membership(line, number) for number, line in enumerate(lines, 1))


def _parse_membership(line: str, number: int) -> Membership:
    match = _LINE.fullmatch(line)
    if match is None:
        raise ParseError(
            "control group", where=f"/{_MEMBERSHIP}", line=number, found=line, expected="ID:CONTROLLERS:/PATH"
        )
    unified = match[1] == "0" and not match[2]
    controllers = tuple(name for name in match[2].split(",") if name)
    return Membership(version=2 if unified else 1, controllers=controllers, path=match[3])


def parse_amount(text: str, *, where: str) -> int | None:
    """Read a size in bytes; None for ``max`` and for version 1's huge numbers that mean no limit."""
    value = text.strip()
    if value == "max":
        return None
    if _NUMBER.fullmatch(value) is None:
        raise ParseError("control group", where=f"/{where}", found=value, expected="a number of bytes, or max")
    return None if int(value) >= _UNLIMITED or int(value) < 0 else int(value)


def parse_stat(text: str, *, where: str) -> dict[str, int]:
    """Read ``name value`` lines such as memory.stat's."""
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        name, _, value = line.partition(" ")
        if _NUMBER.fullmatch(value.strip()) is None:
            raise ParseError("control group", where=f"/{where}", line=number, found=line, expected="'NAME NUMBER'")
        found[name] = int(value)
    return found


def parse_cpu_max(text: str, *, where: str) -> float | None:
    """Read version 2's ``QUOTA PERIOD`` in microseconds as CPUs; None for ``max PERIOD``."""
    match = re.fullmatch(r"(max|[0-9]{1,18})(?: ([0-9]{1,18}))?", text.strip(), re.ASCII)
    if match is None or (match[2] and int(match[2]) == 0):
        raise ParseError("CPU quota", where=f"/{where}", found=text.strip(), expected="'QUOTA PERIOD' or 'max PERIOD'")
    return None if match[1] == "max" else int(match[1]) / int(match[2] or 100_000)


def probe_cgroup_memory(root: Sysroot) -> tuple[CgroupMemory, ...]:
    """Read memory limits and usage from the leaf up; empty where no control group counts memory.

    ProbeError when this process is in a group whose files cannot be seen: a limit may be there.
    """
    way = find_way(root, "memory")
    if way is None:
        return ()
    read = _read_group_v1 if way.version == 1 else _read_group_v2
    return tuple(read(root, folder, way.top) for folder in _accounted(root, way))


def probe_cpu_quota(root: Sysroot) -> float | None:
    """Read the smallest CPU quota on the way to the root, in CPUs; None without one. ProbeError as for memory."""
    way = find_way(root, "cpu")
    if way is None:
        return None
    read = _read_quota_v1 if way.version == 1 else _read_quota_v2
    quotas = [quota for folder in way.folders if (quota := read(root, folder)) is not None]
    return min(quotas, default=None)


def probe_group_swappiness(root: Sysroot) -> int | None:
    """Read the swappiness of this process's memory group; None where the system's own counts (root, version 2)."""
    way = find_way(root, "memory")
    if way is None or way.version != 1 or way.folders[0] == way.top:
        return None
    return _read_amount(root, f"{way.folders[0]}/memory.swappiness")


def find_way(root: Sysroot, controller: str) -> Way | None:
    """Find this process's group of a controller by its name in version 1; None where nothing counts it.

    ProbeError when its files cannot be seen.
    """
    text = root.read_optional(_MEMBERSHIP)
    memberships = parse_memberships(text) if text else ()  # absent: a kernel without control groups
    for membership in sorted(memberships, key=lambda each: each.version):  # a v1 hierarchy takes the controller from v2
        if membership.version == 2 or controller in membership.controllers:  # noqa: PLR2004
            return _way_of(root, membership, controller)
    return None


def _way_of(root: Sysroot, membership: Membership, controller: str) -> Way:
    if ".." in PurePosixPath(membership.path).parts:
        raise _invisible(membership, "it lies outside this control-group namespace")
    top, inner = _mount_of(root, membership, controller)
    if not root.names(top):
        raise _invisible(membership, f"/{top} is not there")
    parts = [part for part in inner.split("/") if part]
    while parts and not root.names("/".join([top, *parts])):
        parts.pop()  # a container may see its own group at the mount, under its name on the host
    folders = tuple("/".join([top, *parts[:depth]]) for depth in range(len(parts), -1, -1))
    return Way(version=membership.version, folders=folders, top=top)


def _invisible(membership: Membership, why: str) -> ProbeError:
    return ProbeError(
        f"limits of control group {membership.path} (/{_MEMBERSHIP}) cannot be seen: {why}",
        fix="run inside the container with its own /sys/fs/cgroup mounted, or judge the host itself",
    )


def _mount_of(root: Sysroot, membership: Membership, controller: str) -> tuple[str, str]:
    """Give the folder at which the hierarchy is mounted and the group's path below it."""
    mounts = parse_mountinfo(root.read_optional(MOUNTINFO) or "")
    carrying = [mount for mount in reversed(mounts) if _carries(mount, membership, controller)]
    for mount in carrying:
        if holds(mount.root, membership.path):
            return mount.mount_point.lstrip("/"), membership.path.removeprefix(mount.root.rstrip("/"))
    if carrying and carrying[0].root.startswith("/.."):  # this group has a name below that root, which is not told here
        why = f"{carrying[0].mount_point} is mounted from another control-group namespace (root {carrying[0].root})"
        raise _invisible(membership, why)
    if carrying:
        raise _invisible(membership, f"{carrying[0].mount_point} shows {carrying[0].root} only")
    return _usual_mount(root, membership, controller), membership.path


def _usual_mount(root: Sysroot, membership: Membership, controller: str) -> str:
    names = ("unified",) if membership.version == 2 else (",".join(membership.controllers), controller)  # noqa: PLR2004
    return next((f"{_HOME}/{name}" for name in names if root.names(f"{_HOME}/{name}")), _HOME)


def _carries(mount: Mount, membership: Membership, controller: str) -> bool:
    if membership.version == 2:  # noqa: PLR2004
        return mount.fstype == "cgroup2"
    return mount.fstype == "cgroup" and controller in mount.super_options


def _accounted(root: Sysroot, way: Way) -> tuple[str, ...]:
    """Leave out ancestors that do not count their children: version 1 with memory.use_hierarchy 0 (before 5.11)."""
    for depth, folder in enumerate(way.folders[1:], 1):
        if (root.read_optional(f"{folder}/memory.use_hierarchy") or "1").strip() == "0":
            return way.folders[:depth]
    return way.folders


def _read_amount(root: Sysroot, name: str) -> int | None:
    text = root.read_optional(name)
    return None if text is None else parse_amount(text, where=name)


def _read_group_v2(root: Sysroot, folder: str, top: str) -> CgroupMemory:
    stat = parse_stat(root.read_optional(f"{folder}/memory.stat") or "", where=f"{folder}/memory.stat")
    return CgroupMemory(
        path=folder.removeprefix(top) or "/",
        version=2,
        limit_bytes=_read_amount(root, f"{folder}/memory.max"),
        high_bytes=_read_amount(root, f"{folder}/memory.high"),
        usage_bytes=_read_amount(root, f"{folder}/memory.current"),
        inactive_file_bytes=stat.get("inactive_file"),
        active_file_bytes=stat.get("active_file"),
    )


def _read_group_v1(root: Sysroot, folder: str, top: str) -> CgroupMemory:
    stat = parse_stat(root.read_optional(f"{folder}/memory.stat") or "", where=f"{folder}/memory.stat")
    limits = [_read_amount(root, f"{folder}/memory.limit_in_bytes")]
    if folder == top:  # the hierarchical limit tells of ancestors above the mount, which a container does not see
        limits.append(stat.get("hierarchical_memory_limit"))
    return CgroupMemory(
        path=folder.removeprefix(top) or "/",
        version=1,
        limit_bytes=min((limit for limit in limits if limit is not None and limit < _UNLIMITED), default=None),
        high_bytes=None,
        usage_bytes=_read_amount(root, f"{folder}/memory.usage_in_bytes"),
        inactive_file_bytes=stat.get("total_inactive_file", stat.get("inactive_file")),
        active_file_bytes=stat.get("total_active_file", stat.get("active_file")),
    )


def _read_quota_v2(root: Sysroot, folder: str) -> float | None:
    text = root.read_optional(f"{folder}/cpu.max")
    return None if text is None else parse_cpu_max(text, where=f"{folder}/cpu.max")


def _read_quota_v1(root: Sysroot, folder: str) -> float | None:
    quota = _read_amount(root, f"{folder}/cpu.cfs_quota_us")  # -1 is no quota
    period = _read_amount(root, f"{folder}/cpu.cfs_period_us")
    return None if quota is None or not period else quota / period
