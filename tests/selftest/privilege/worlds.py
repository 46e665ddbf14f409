"""Worlds in which less can be seen or done than root can, and the words of gates that differ there. Not a test."""

from __future__ import annotations

from dataclasses import dataclass, field

NOBODY = 65534
NAMELESS = 54321  # no entry in passwd, as a container's arbitrary user


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """How it is entered, and for each gate whose word differs from root's: the word and a part of its cause."""

    name: str
    uid: int | None = NOBODY
    mounts: tuple = ()
    namespace: bool = False
    denied: bool = False
    home: str = "own"  # "own", "closed" or "unset"
    differs: dict = field(default_factory=dict)


_NO_SYS = ("mount", "-t", "tmpfs", "none", "/sys")
_HIDDEN = ("mount", "-t", "proc", "-o", "hidepid=2", "none", "/proc")
_NO_SETTINGS = ("mount", "-t", "tmpfs", "none", "/proc/sys")

# Control groups and disks are seen in /sys alone. What a disk is, its random reads tell all the same.
_WITHOUT_SYS = {
    "cpu.physical_cores": ("error", "limits of control group"),
    "memory.available": ("error", "limits of control group"),
    "memory.limit": ("error", "limits of control group"),
    "storage.transport": ("advice", "how the disks are attached is not known"),
    "storage.link": ("advice", "the drives are not known, nor their links"),
    "storage.read_limit": ("advice", "limits of control group"),
    "storage.health": ("advice", "the drives are not known, nor their health"),
    "storage.quiet": ("error", "the disks below the model are not known"),
    "storage.temperature": ("advice", "the disks below the model are not known"),
}

WORLDS = (
    World(name="an ordinary user"),
    World(name="a home that cannot be written", home="closed"),
    World(name="a user without name and home", uid=NAMELESS, home="unset"),
    World(name="root of a user namespace", namespace=True),
    World(name="a proc that hides others", mounts=(_HIDDEN,)),
    World(name="a masked proc sys", mounts=(_NO_SETTINGS,)),
    World(name="no sys", mounts=(_NO_SYS,), differs=_WITHOUT_SYS),
    World(name="root without sys", uid=None, mounts=(_NO_SYS,), differs=_WITHOUT_SYS),
    World(name="a filter of system calls", denied=True),
    World(name="root under a filter", uid=None, denied=True),
)
