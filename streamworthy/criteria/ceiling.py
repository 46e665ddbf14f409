"""How near decoding comes to what the hardware gives, and how evenly tokens come. Pure."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from streamworthy.criteria.evidence import evidence
from streamworthy.criteria.rates import rates
from streamworthy.criteria.series import unsettled
from streamworthy.criteria.spec import within
from streamworthy.units import (
    RATIO,
    SHARE,
    format_bytes,
    format_rate,
    format_ratio,
    format_seconds,
    format_share,
    format_tokens_per_second,
)
from streamworthy.verdict import Verdict, Word, verdict

if TYPE_CHECKING:
    from streamworthy.criteria.spec import Limit
    from streamworthy.facts.episode import Series
    from streamworthy.facts.roofs import Roof, RoofFacts

_LEAST_GAPS = 20  # of fewer the 95th percentile is the largest


def judge_efficiency(series: Series, roofs: RoofFacts, limit: Limit) -> Verdict:
    """Judge the warm rate as a share of the lower roof; above a roof that was measured nothing real can be."""
    values = rates(series)
    open_verdict = unsettled(series, format_tokens_per_second, values)
    if open_verdict:
        return open_verdict
    read = median(sample.device_bytes / sample.tokens for sample in series.samples)
    ceilings = {roofs.memory.bytes_per_second / roofs.bytes_per_token: roofs.memory}
    if read > 0:
        ceilings[roofs.disk.bytes_per_second / read] = roofs.disk
    ceiling = min(ceilings)
    roof, share = ceilings[ceiling], median(values) / ceiling
    facts = (*_roof_lines(roofs, ceiling, roof, read), *evidence(series, format_tokens_per_second, values))
    if share > 1 and roof.measured:
        return verdict(
            Word.INCONCLUSIVE,
            measured=f"{format_share(share)} of the ceiling",
            required="at most 100 %",
            value=share,
            unit=SHARE.unit,
            samples=values,
            cause=f"the cache state is not what it seems: {format_tokens_per_second(median(values))} is above what "
            f"{roof.name} gives, {format_tokens_per_second(ceiling)}",
            fix=("run again on a quiet machine: the roof may have been measured beside another load",),
            evidence=facts,
        )
    return within(share, limit, SHARE, samples=values, evidence=facts)


def _roof_lines(roofs: RoofFacts, ceiling: float, binding: Roof, read: float) -> tuple[str, ...]:
    return (
        f"ceiling={format_tokens_per_second(ceiling)} by {binding.name}",
        *(f"{roof.name}={format_rate(roof.bytes_per_second)} ({roof.basis})" for roof in (roofs.memory, roofs.disk)),
        f"read_per_token={format_bytes(roofs.bytes_per_token)} from memory, {format_bytes(read)} from the disk",
    )


def judge_stalls(series: Series, limit: Limit) -> Verdict:
    """Judge the 95th percentile of the time between two tokens over its median, all episodes together."""
    values = tuple(stall_ratio(sample.gap_seconds) for sample in series.samples if sample.gap_seconds)
    open_verdict = unsettled(series, format_ratio, values)
    if open_verdict:
        return open_verdict
    gaps = tuple(gap for sample in series.samples for gap in sample.gap_seconds)
    if len(gaps) < _LEAST_GAPS:
        return verdict(
            Word.INCONCLUSIVE,
            measured=f"{len(gaps)} gaps",
            cause=f"{len(gaps)} gaps between tokens, at least {_LEAST_GAPS} wanted",
            fix=("in [engine]: more decode_tokens",),
        )
    return within(
        stall_ratio(gaps),
        limit,
        RATIO,
        samples=values,
        evidence=(
            f"gap={_gap_line(gaps)}",
            *evidence(series, format_ratio, values),
        ),
    )


def _gap_line(gaps: tuple[float, ...]) -> str:
    middle, slow, longest = (format_seconds(value) for value in (median(gaps), percentile(gaps), max(gaps)))
    return f"median {middle}, p95 {slow}, longest {longest} of {len(gaps)}"


def percentile(values: tuple[float, ...]) -> float:
    """Give the 95th percentile, the nearest rank of the sorted values."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * 95 // 100) - 1)]


def stall_ratio(gaps: tuple[float, ...]) -> float:
    """Give the 95th percentile of gaps over their median; clocks that stood still give 1."""
    middle = median(gaps)
    return percentile(gaps) / middle if middle > 0 else 1.0
