"""Is memory read fast enough for the weights that a token takes from it? Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from streamworthy.criteria.spec import bounds, doubtful, required, within
from streamworthy.units import BYTES_PER_SECOND, format_bytes, format_rate, format_share
from streamworthy.verdict import Word

if TYPE_CHECKING:
    from streamworthy.criteria.spec import Limit
    from streamworthy.facts.bandwidth import BandwidthFacts
    from streamworthy.verdict import Verdict

_STEADY_SHARE = 0.75
_CAUSE = "memory gives less: too few channels filled, modules below their rated speed, or another program reads it too"
_FIX = (
    "sudo dmidecode --type memory | grep -E 'Locator|Size|Configured Memory Speed'",
    "fill every channel with equal modules and switch their profile (XMP, EXPO) on in the firmware",
)


@bounds(at_least=required(BYTES_PER_SECOND))
def read(facts: BandwidthFacts, limit: Limit) -> Verdict:
    """Judge the median read-only rate at the knee; a rate that jumps between passes decides nothing.

    Unless the best pass misses too: what disturbs makes memory slower, never faster.
    """
    rates = facts.at_knee
    value = rates.median_bytes_per_second
    found = within(
        value,
        limit,
        BYTES_PER_SECOND,
        samples=rates.rates_bytes_per_second,
        cause=_CAUSE,
        fix=_FIX,
        evidence=_evidence(facts),
    )
    best = max(rates.rates_bytes_per_second)
    if facts.steady_share >= _STEADY_SHARE or best < limit.values["at_least"]:
        return found
    cause = (
        f"unstable: the median pass reads {format_rate(value)}, the best {format_rate(best)}: "
        "other programs use the memory or the cores"
    )
    fix = ("uptime; top -b -n 1 | head -15", "end what is busy, and run again")
    return doubtful(replace(found, word=Word.PASS), limit, cause, fix)


def _evidence(facts: BandwidthFacts) -> tuple[str, ...]:
    sweep = ", ".join(f"{each.threads_count}: {format_rate(each.median_bytes_per_second)}" for each in facts.sweep)
    cache, numa = facts.last_level_cache_bytes, facts.numa
    told = {
        "by_threads": sweep,
        "knee": f"{facts.knee_threads_count} threads",
        "steady": format_share(facts.steady_share),
        "scattered": f"{format_rate(facts.scattered.median_bytes_per_second)} "
        f"in slabs of {format_bytes(facts.slab_bytes)}",
        "working_set": format_bytes(facts.working_set_bytes),
        "last_level_cache": "unknown" if cache is None else format_bytes(cache),
        "numa_nodes": _shown(None if numa.nodes is None else len(numa.nodes)),
        "numa_local": _placed(facts),
        "zone_reclaim_mode": _shown(numa.zone_reclaim_mode),
        "numa_balancing": _shown(numa.numa_balancing),
    }
    return tuple(f"{name}={text}" for name, text in told.items())


def _placed(facts: BandwidthFacts) -> str:
    placed = facts.placed
    if placed is None:
        return f"not measured: {facts.unplaced}"
    near, mixed = placed.local.median_bytes_per_second, placed.interleaved.median_bytes_per_second
    return f"{format_rate(near)} by the cores of node {placed.node}, interleaved over all nodes {format_rate(mixed)}"


def _shown(number: int | None) -> str:
    return "unknown" if number is None else str(number)
