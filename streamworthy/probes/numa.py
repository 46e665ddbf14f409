"""Processor caches and memory nodes.

Sources: Documentation/ABI/testing/sysfs-devices-system-cpu (cache/indexN), Documentation/ABI/stable/sysfs-devices-node,
Documentation/admin-guide/sysctl/vm.rst (zone_reclaim_mode) and kernel.rst (numa_balancing).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from streamworthy.facts.bandwidth import MemoryNode, NumaFacts
from streamworthy.probes.process_limits import parse_cpu_list

if TYPE_CHECKING:
    from streamworthy.probes.sysroot import Sysroot

_CPUS = "sys/devices/system/cpu"
_NODES = "sys/devices/system/node"
_SIZE = re.compile(r"([0-9]{1,12})([KMG])", re.ASCII)
_FACTORS = {"K": 2**10, "M": 2**20, "G": 2**30}


def probe_last_level_cache(root: Sysroot) -> int | None:
    """Add up the instances of the highest cache level; None where sysfs does not tell (some boards and containers)."""
    found: dict[tuple[int, str], int] = {}
    for cpu in root.names(_CPUS):
        if not re.fullmatch(r"cpu[0-9]+", cpu):
            continue
        for index in root.names(f"{_CPUS}/{cpu}/cache"):
            folder = f"{_CPUS}/{cpu}/cache/{index}"
            level, size, shared = (
                (root.read_optional(f"{folder}/{name}") or "").strip() for name in ("level", "size", "shared_cpu_list")
            )
            if level.isdecimal() and (match := _SIZE.fullmatch(size)):
                found[int(level), shared] = int(match[1]) * _FACTORS[match[2]]
    last = max((level for level, _ in found), default=None)
    return None if last is None else sum(size for (level, _), size in found.items() if level == last)


def probe_numa(root: Sysroot) -> NumaFacts:
    """List the nodes that have memory, and read what the kernel does with them."""
    return NumaFacts(
        nodes=_nodes(root),
        zone_reclaim_mode=_number(root, "proc/sys/vm/zone_reclaim_mode"),
        numa_balancing=_number(root, "proc/sys/kernel/numa_balancing"),
    )


def _nodes(root: Sysroot) -> tuple[MemoryNode, ...] | None:
    for name in ("has_memory", "has_normal_memory", "online"):  # the first is missing before Linux 4.14 on most builds
        if root.exists(f"{_NODES}/{name}"):
            return tuple(
                MemoryNode(number=number, cpus=_list(root, f"node{number}/cpulist")) for number in _list(root, name)
            )
    return None


def _list(root: Sysroot, name: str) -> tuple[int, ...]:
    return parse_cpu_list(root.read_optional(f"{_NODES}/{name}") or "", where=f"/{_NODES}/{name}")


def _number(root: Sysroot, name: str) -> int | None:
    text = (root.read_optional(name) or "").strip()
    return int(text) if text.isdecimal() else None
