"""Limits and capabilities of a process: /proc/PID/limits, /proc/PID/status and /proc/PID/uid_map.

Limits are ``name  soft  hard  unit``, the name padded to 25 columns (fs/proc/base.c); a capability counts for mlock
only in the first user namespace (can_do_mlock and capable in the kernel's mm/mlock.c and kernel/capability.c).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamworthy.errors import ParseError
from streamworthy.facts.memory import MemlockFacts

if TYPE_CHECKING:
    from streamworthy.probes.sysroot import Sysroot

_CAP_IPC_LOCK = 1 << 14  # include/uapi/linux/capability.h
_VALUES = re.compile(r"\s+(unlimited|[0-9]{1,20})\s+(unlimited|[0-9]{1,20})\s+bytes\s*", re.ASCII)
LOCKED, ADDRESS_SPACE = "Max locked memory", "Max address space"
_FIRST_NAMESPACE = ["0", "0", "4294967295"]  # every id maps to itself


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessStatus:
    """The lines of /proc/PID/status that matter here."""

    effective_capabilities: int
    locked_bytes: int | None  # None: kernel threads and zombies have no memory
    allowed_cpus: tuple[int, ...]


def parse_limit(text: str, name: str) -> tuple[int | None, int | None]:
    """Read soft and hard limit in bytes from /proc/PID/limits by the line's name; None is unlimited."""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith(name):
            continue
        match = _VALUES.fullmatch(line.removeprefix(name))
        if match is None:
            raise _limits_error(name, line, number)
        soft, hard = (None if value == "unlimited" else int(value) for value in match.groups())
        return soft, hard
    raise _limits_error(name, "no such line", None)


def _limits_error(name: str, found: str, line: int | None) -> ParseError:
    item = name.removeprefix("Max ")
    return ParseError(item, where="/proc/PID/limits", line=line, found=found, expected=f"'{name} SOFT HARD bytes'")


def parse_status(text: str) -> ProcessStatus:
    """Read /proc/PID/status; ParseError when a line that every kernel writes is missing or malformed."""
    locked = _value(text, "VmLck", r"([0-9]{1,18}) kB", needed=False)
    return ProcessStatus(
        effective_capabilities=int(_value(text, "CapEff", r"([0-9a-fA-F]{1,16})") or "", 16),
        locked_bytes=None if locked is None else int(locked) * 2**10,
        allowed_cpus=parse_cpu_list(_value(text, "Cpus_allowed_list", r"([0-9,-]*)") or "", where="/proc/PID/status"),
    )


def _value(text: str, name: str, pattern: str, *, needed: bool = True) -> str | None:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith(f"{name}:"):
            continue
        match = re.fullmatch(pattern, line.removeprefix(f"{name}:").strip(), re.ASCII)
        if match is None:
            raise ParseError(name, where="/proc/PID/status", line=number, found=line, expected=f"{name}: {pattern}")
        return match[1]
    if needed:
        raise ParseError(name, where="/proc/PID/status", found="no such line", expected=f"a line {name}:")
    return None


_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?", re.ASCII)  # Linux has at most 8192 CPUs


def parse_cpu_list(text: str, *, where: str) -> tuple[int, ...]:
    """Read a list such as ``0-3,8`` (Documentation/admin-guide/cputopology.rst); empty when no CPU is in it."""
    found: set[int] = set()
    for part in text.strip().split(",") if text.strip() else ():
        match = _RANGE.fullmatch(part)
        if match is None or int(match[2] or match[1]) < int(match[1]):
            raise ParseError("list of CPUs", where=where, found=text.strip(), expected="a list such as 0-3,8")
        found.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return tuple(sorted(found))


def probe_memlock(root: Sysroot, *, need_bytes: int, pid: str = "self") -> MemlockFacts:
    """Read what a process may lock. ``pid`` is the engine's; ours stands for a child, which inherits limits."""
    soft, hard = parse_limit(root.read_text(f"proc/{pid}/limits"), LOCKED)
    status = parse_status(root.read_text(f"proc/{pid}/status"))
    first = _in_first_namespace(root, pid)
    return MemlockFacts(
        process=pid,
        soft_bytes=soft,
        hard_bytes=hard,
        capable=bool(status.effective_capabilities & _CAP_IPC_LOCK) and first,
        confined=not first,
        locked_bytes=status.locked_bytes,
        need_bytes=need_bytes,
    )


def probe_address_limits(root: Sysroot, *, pid: str = "self") -> tuple[int | None, int | None]:
    """Read how much address space a process may map, soft and hard, in bytes; None is unlimited."""
    return parse_limit(root.read_text(f"proc/{pid}/limits"), ADDRESS_SPACE)


def _in_first_namespace(root: Sysroot, pid: str) -> bool:
    mapped = root.read_optional(f"proc/{pid}/uid_map")  # absent: a kernel without user namespaces
    return mapped is None or mapped.split() == _FIRST_NAMESPACE
