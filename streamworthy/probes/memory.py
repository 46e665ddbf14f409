"""Memory that this machine has, has left, and lets this process use: meminfo and control groups together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.errors import ParseError, ProbeError
from streamworthy.facts.memory import CgroupMemory, MemoryFacts
from streamworthy.probes.cgroup import probe_cgroup_memory
from streamworthy.probes.held_memory import probe_bound, probe_held
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
        held=probe_held(root, meminfo),
        bound=probe_bound(root),
    )


def probe_commit_left(root: Sysroot) -> int | None:
    """Read how much private memory may still be promised; None unless vm.overcommit_memory is 2.

    ParseError when the sizes behind it cannot be read. Documentation/mm/overcommit-accounting.rst; files that are
    mapped shared are not counted.
    """
    if (root.read_optional("proc/sys/vm/overcommit_memory") or "").strip() != "2":
        return None
    meminfo = parse_meminfo(root.read_text(FILE))
    if meminfo.commit_limit_bytes is None or meminfo.committed_bytes is None:
        raise ParseError("commit limit", where=f"/{FILE}", found="no such line", expected="CommitLimit, Committed_AS")
    return max(0, meminfo.commit_limit_bytes - meminfo.committed_bytes)


def _read_groups(root: Sysroot) -> tuple[tuple[CgroupMemory, ...], str]:
    try:
        return probe_cgroup_memory(root), ""
    except ProbeError as error:
        return (), error.message
