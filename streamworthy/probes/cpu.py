"""Processor, cores and CPU time of this process: /proc/cpuinfo, sysfs topology, affinity and quota.

/proc/cpuinfo has blocks of ``key : value``, one a logical CPU: x86 writes ``flags``, arm64 ``Features``. Topology:
Documentation/admin-guide/cputopology.rst; core_cpus_list since 5.3, thread_siblings_list before.
"""

from __future__ import annotations

import os
import re
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamworthy.errors import ParseError, ProbeError
from streamworthy.facts.cpu import CpuFacts
from streamworthy.probes.captured import optional_table
from streamworthy.probes.cgroup import probe_cpu_quota
from streamworthy.probes.process_limits import parse_cpu_list, parse_status

if TYPE_CHECKING:
    from collections.abc import Hashable

    from streamworthy.probes.sysroot import Sysroot

_CPUINFO = "proc/cpuinfo"
_CPUS = "sys/devices/system/cpu"
_LARGE_SHARE = 0.6
_NUMBER = re.compile(r"[0-9]{1,6}", re.ASCII)
_SPELLED = {"arm64": "aarch64", "amd64": "x86_64"}  # Darwin and BSD say it so


@dataclass(frozen=True, slots=True, kw_only=True)
class Processor:
    """One block of /proc/cpuinfo."""

    index: int
    model_name: str | None  # None: arm64
    flags: frozenset[str] | None  # None: architectures that print none
    package_id: int | None  # None: arm64, and x86 kernels without SMP
    core_id: int | None  # None: as above


def parse_cpuinfo(text: str) -> tuple[Processor, ...]:
    """Read /proc/cpuinfo; ParseError when no logical CPU is in it. Blocks about the board are left out."""
    blocks = (_read_block(block) for block in re.split(r"\n[ \t]*\n", text))
    found = tuple(_processor(block) for block in blocks if _NUMBER.fullmatch(block.get("processor", "")))
    if not found:
        raise ParseError("processors", where=f"/{_CPUINFO}", found=text[:60], expected="blocks with 'processor : N'")
    return found


def _read_block(block: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in block.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def _processor(block: dict[str, str]) -> Processor:
    flags = block.get("flags", block.get("Features"))
    return Processor(
        index=int(block["processor"]),
        model_name=block.get("model name") or None,
        flags=None if flags is None else frozenset(flags.split()),
        package_id=_number(block.get("physical id")),
        core_id=_number(block.get("core id")),
    )


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and _NUMBER.fullmatch(text.strip()) else None


def spell_architecture(machine: str) -> str:
    """Write what uname -m says as Linux does."""
    return _SPELLED.get(machine, machine)


def probe_architecture(root: Sysroot) -> str:
    """Learn the architecture: uname of this machine, ``[uname] machine`` of a captured one."""
    if root.live:
        root.note("uname", {"machine": os.uname().machine, "pointer_bits": _pointer_bits()})
        return spell_architecture(os.uname().machine)
    machine = optional_table(root, "uname").get("machine")
    if not isinstance(machine, str):
        raise ProbeError(f"{root.path('machine.toml')}: [uname] machine is missing, expected a word such as x86_64")
    return spell_architecture(machine)


def _pointer_bits() -> int:
    return struct.calcsize("P") * 8


def probe_cpu(root: Sysroot) -> CpuFacts:
    """Read the processor as this process may use it; ProbeError when /proc/cpuinfo or affinity cannot be read."""
    processors = parse_cpuinfo(root.read_text(_CPUINFO))
    online = _probe_online(root, processors)
    allowed = _probe_allowed(root, online)
    mine = [each for each in processors if each.index in allowed] or list(processors)
    cores, quota, unknown = _probe_cores(root, processors, allowed)
    return CpuFacts(
        architecture=probe_architecture(root),
        pointer_bits=_pointer_bits() if root.live else optional_table(root, "uname").get("pointer_bits"),
        model_name=mine[0].model_name,
        hypervisor=any("hypervisor" in (each.flags or ()) for each in mine),
        flags=_shared_flags(mine),
        partial_flags=_partial_flags(mine),
        online_count=len(online),
        allowed_count=len(allowed),
        physical_cores_count=cores,
        performance_cores_count=_count_fast_cores(root, processors, allowed) if cores is not None else None,
        quota_cores=quota,
        cores_unknown=unknown,
    )


def _shared_flags(processors: list[Processor]) -> tuple[str, ...] | None:
    told = [each.flags for each in processors if each.flags is not None]
    return tuple(sorted(frozenset.intersection(*told))) if told else None


def _partial_flags(processors: list[Processor]) -> tuple[str, ...]:
    told = [each.flags for each in processors if each.flags is not None]
    return tuple(sorted(frozenset.union(*told) - frozenset.intersection(*told))) if told else ()


def _count_fast_cores(root: Sysroot, processors: tuple[Processor, ...], allowed: frozenset[int]) -> int | None:
    """Count cores of the fast kind where there are two; a core whose threads are both allowed counts once."""
    try:
        fast = _hybrid_cpus(root) or _large_cpus(root, allowed)
    except ProbeError:  # no verdict rests on it
        return None
    mine = allowed & fast
    if not mine or mine == allowed:
        return None
    listed = {each.index: each for each in processors}
    return len({_core_of(root, index, listed.get(index)) for index in mine})


def _hybrid_cpus(root: Sysroot) -> frozenset[int]:
    """Read Intel's performance cores, where others stand beside them (events of cpu_core and cpu_atom, since 5.13)."""
    fast, *slow = (root.read_optional(f"sys/devices/{kind}/cpus") for kind in ("cpu_core", "cpu_atom", "cpu_lowpower"))
    return frozenset(parse_cpu_list(fast, where="/sys/devices/cpu_core/cpus")) if fast and any(slow) else frozenset()


def _large_cpus(root: Sysroot, allowed: frozenset[int]) -> frozenset[int]:
    """Read arm64's capacities (1024 is the largest core's): the little ones of a phone or board have a third of it."""
    told = {index: _number(root.read_optional(f"{_CPUS}/cpu{index}/cpu_capacity")) for index in allowed}
    most = max((each for each in told.values() if each is not None), default=0)
    return frozenset(index for index, each in told.items() if each is not None and each >= _LARGE_SHARE * most)


def _probe_online(root: Sysroot, processors: tuple[Processor, ...]) -> frozenset[int]:
    text = root.read_optional(f"{_CPUS}/online")  # absent: one CPU, or a capture without sysfs
    listed = parse_cpu_list(text, where=f"/{_CPUS}/online") if text else ()
    return frozenset(listed or (each.index for each in processors))


def _probe_allowed(root: Sysroot, online: frozenset[int]) -> frozenset[int]:
    """Read affinity, which cpusets narrow too; a mask may name CPUs that are possible but not there."""
    status = parse_status(root.read_text("proc/self/status"))
    allowed = online.intersection(status.allowed_cpus)
    if not allowed:
        raise ProbeError("/proc/self/status: Cpus_allowed_list names no CPU that is online")
    return allowed


def _probe_cores(
    root: Sysroot, processors: tuple[Processor, ...], allowed: frozenset[int]
) -> tuple[int | None, float | None, str]:
    """Give physical cores, quota in CPUs, and why one of them is unknown."""
    listed = {each.index: each for each in processors}
    cores = {_core_of(root, index, listed.get(index)) for index in allowed}
    if None in cores:
        return None, None, f"/{_CPUS}/cpu*/topology: not there, and /proc/cpuinfo tells no core ids"
    try:
        return len(cores), probe_cpu_quota(root), ""
    except ProbeError as error:
        return len(cores), None, error.message


def _core_of(root: Sysroot, index: int, processor: Processor | None) -> Hashable | None:
    """Name the physical core of a logical CPU, equal for its hardware threads.

    The kernel's own list of threads comes first: arm64 counts core_id anew in each cluster (since 6.0).
    """
    topology = f"{_CPUS}/cpu{index}/topology"
    for name in ("core_cpus_list", "thread_siblings_list"):
        text = root.read_optional(f"{topology}/{name}")
        if text and text.strip():
            return parse_cpu_list(text, where=f"/{topology}/{name}")
    names = ("physical_package_id", "die_id", "cluster_id", "core_id")
    ids = tuple(_number(root.read_optional(f"{topology}/{name}")) for name in names)
    if ids[-1] is not None:
        return ids
    told = processor is not None and processor.core_id is not None
    return (processor.package_id, processor.core_id) if processor is not None and told else None
