"""Memory that this machine has, has left, and lets this process use: meminfo and control groups together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.errors import ProbeError
from streamworthy.facts.memory import CgroupMemory, MemoryFacts
from streamworthy.probes.cgroup import probe_cgroup_memory
from streamworthy.probes.host import is_wsl
from streamworthy.probes.meminfo import FILE, parse_meminfo

if TYPE_CHECKING:
    from streamworthy.probes.sysroot import Sysroot


def probe_memory(root: Sysroot) -> MemoryFacts:
    """Read /proc/meminfo and the memory groups of this process; ProbeError when meminfo cannot be read."""
    meminfo = parse_meminfo(root.read_text(FILE))
    groups, groups_unknown = _read_groups(root)
    return MemoryFacts(
        total_bytes=meminfo.total_bytes,
        free_bytes=meminfo.free_bytes,
        page_cache_bytes=meminfo.page_cache_bytes,
        available_bytes=meminfo.available_bytes,
        groups=groups,
        groups_unknown=groups_unknown,
        wsl=is_wsl(root),
    )


def _read_groups(root: Sysroot) -> tuple[tuple[CgroupMemory, ...], str]:
    try:
        return probe_cgroup_memory(root), ""
    except ProbeError as error:
        return (), error.message
