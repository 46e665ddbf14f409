"""What every performance gate asks of its samples before it asks whether they are fast enough. Pure."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

from streamworthy.criteria.answer import answer_fault
from streamworthy.criteria.bottleneck import Bottleneck
from streamworthy.criteria.evidence import evidence
from streamworthy.verdict import Verdict, Word, not_applicable, verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamworthy.facts.episode import EngineFailure, Series


def unsettled(series: Series, write: Callable[[float], str], values: tuple[float, ...]) -> Verdict | None:
    """Give the verdict of samples that decide nothing; None when they can be judged.

    That so many were wanted and something came in between stays without effect once there are as many.

    ``write`` formats one value for people; ``values`` are the gate's numbers, one a sample.
    """
    if series.excluded:
        shown = write(median(values)) if values else "-"
        return not_applicable(series.excluded, measured=shown)
    if series.failure:
        found = failed(series.failure)
        return replace(found, evidence=(*found.evidence, *_stopped(series)))
    fault = answer_fault(series.answers)
    if fault:
        reason, fix = f"no speed counts without a sound answer: {fault}", ()
        return open_verdict(write, values, reason, fix, evidence(series, write, values))
    if len(values) < series.wanted_count:
        reason = series.refused or f"{len(values)} samples, {series.wanted_count} wanted"
        return open_verdict(
            write, values, reason, series.refused_fix, (*evidence(series, write, values), *_stopped(series))
        )
    return None


def _stopped(series: Series) -> tuple[str, ...]:
    """Name the cause that stood in the way of samples, where it is known."""
    if series.stopped_by is None:
        return ()
    reason = series.failure.message if series.failure else series.refused
    return (f"bottleneck={Bottleneck(word=series.stopped_by, reason=reason, fix=()).told}",)


def failed(failure: EngineFailure) -> Verdict:
    """Give the verdict of an engine that gave no number."""
    return verdict(
        Word.ERROR,
        measured="unknown",
        cause=failure.message,
        fix=failure.fix,
        evidence=tuple(f"log={line}" for line in failure.log),
    )


def unrecorded() -> Verdict:
    """Give the verdict of a gate whose samples pytest-benchmark would not keep: nothing is measured for it."""
    return verdict(
        Word.INCONCLUSIVE,
        measured="nothing measured",
        cause="--benchmark-disable: samples are not recorded, and a number without its samples decides nothing",
        fix=("run again without --benchmark-disable",),
    )


def open_verdict(
    write: Callable[[float], str],
    values: tuple[float, ...],
    reason: str,
    fix: tuple[str, ...],
    facts: tuple[str, ...],
) -> Verdict:
    """Give the verdict of samples that leave a gate open, and why; ``facts`` are the evidence."""
    shown = f"{write(median(values))} (of {len(values)} samples)" if values else "nothing measured"
    return verdict(
        Word.INCONCLUSIVE,
        measured=shown,
        samples=values,
        cause=reason,
        fix=fix,
        evidence=facts,
    )
