"""Whether the engine may still allocate what it needs, and what keeps it from that. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from streamworthy.criteria.group_limits import raise_limit
from streamworthy.criteria.memory_holders import held_evidence, shrink_arc, why_bound, why_held
from streamworthy.criteria.spec import within
from streamworthy.criteria.wsl import give_memory
from streamworthy.units import BYTES, format_bytes
from streamworthy.verdict import Verdict, Word

if TYPE_CHECKING:
    from streamworthy.criteria.spec import Limit
    from streamworthy.facts.memory import MemoryFacts

ADD_MEMORY = ("add memory, or choose a smaller tier with --tier",)


def judge_available(found: int, memory: MemoryFacts, limit: Limit) -> Verdict:
    """Judge what may still be allocated; what only ZFS gives back is taken with advice."""
    cause, fix = _why_little(found, memory, limit)
    judged = within(found, limit, BYTES, cause=cause, fix=fix, evidence=_available_evidence(memory))
    lacking = int(limit.values["at_least"]) - (memory.available_bytes or found)
    if judged.word is not Word.PASS or memory.held is None or lacking <= 0:
        return judged
    return replace(
        judged,
        word=Word.ADVICE,
        cause=f"{format_bytes(memory.held.yielding_bytes)} of it are in ZFS's cache (ARC), which gives back slowly",
        fix=shrink_arc(memory.held, lacking),
    )


def _why_little(found: int, memory: MemoryFacts, limit: Limit) -> tuple[str, tuple[str, ...]]:
    system, need = memory.claimable_bytes, limit.values["at_least"]
    if system is not None and found < system:
        if memory.bound is not None and found == memory.bound.available_bytes:
            return why_bound(memory.bound)
        cause = f"a control group leaves less than the system has ({format_bytes(system)})"
        return cause, raise_limit(memory.tightest_group, need)
    if memory.total_bytes < need:
        cause = f"the machine has only {format_bytes(memory.total_bytes)} in all"
        return cause, give_memory(need) if memory.wsl else ADD_MEMORY
    return why_held(memory, int(need) - found)


def _available_evidence(memory: MemoryFacts) -> tuple[str, ...]:
    groups = tuple(
        f"cgroup {group.path}={format_bytes(group.free_bytes)} left of {format_bytes(group.limit_bytes)}"
        for group in memory.groups
        if group.limit_bytes is not None and group.free_bytes is not None
    )
    system = () if memory.available_bytes is None else (f"MemAvailable={format_bytes(memory.available_bytes)}",)
    return (*system, f"MemFree={format_bytes(memory.free_bytes)}", *groups, *held_evidence(memory))
