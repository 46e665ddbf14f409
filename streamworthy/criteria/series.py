"""What every performance gate asks of its samples before it asks whether they are fast enough. Pure."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from streamworthy.criteria.answer import answer_fault
from streamworthy.units import format_bytes, format_share
from streamworthy.verdict import Verdict, Word, not_applicable, verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamworthy.facts.episode import EngineFailure, Sample, Series


def unsettled(series: Series, write: Callable[[float], str], values: tuple[float, ...]) -> Verdict | None:
    """Give the verdict of samples that decide nothing; None when they can be judged.

    That so many were wanted and something came in between stays without effect once there are as many.

    ``write`` formats one value for people; ``values`` are the gate's numbers, one a sample.
    """
    if series.excluded:
        shown = write(median(values)) if values else "-"
        return not_applicable(series.excluded, measured=shown)
    if series.failure:
        return failed(series.failure)
    fault = answer_fault(series.answers)
    if fault:
        reason, fix = f"no speed counts without a sound answer: {fault}", ()
        return open_verdict(write, values, reason, fix, evidence(series, write, values))
    if len(values) < series.wanted_count:
        reason = series.refused or f"{len(values)} samples, {series.wanted_count} wanted"
        return open_verdict(write, values, reason, series.refused_fix, evidence(series, write, values))
    return None


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


def evidence(series: Series, write: Callable[[float], str], values: tuple[float, ...]) -> tuple[str, ...]:
    """Write what is kept with a number: spread, cache state, device bytes, faults, pressure, temperature."""
    samples = series.samples
    if not samples:
        return ()
    facts = {
        "state": series.state,
        "spread": f"{write(min(values))} to {write(max(values))}",
        "resident_before": _median(samples, lambda s: s.resident_share, format_share),
        "device_bytes": _median(samples, lambda s: s.device_bytes, format_bytes),
        "major_faults": _median(samples, lambda s: s.major_faults, lambda value: f"{value:.0f}"),
        "psi_io_full": _median(samples, lambda s: s.conditions.io_full_share, format_share),
        "psi_memory_full": _median(samples, lambda s: s.conditions.memory_full_share, format_share),
        "temperature": _median(samples, lambda s: s.conditions.temperature_celsius, lambda value: f"{value:.0f} C"),
        "disturbed_by": ", ".join(dict.fromkeys(name for s in samples for name in s.conditions.disturbers)),
        "cpu_of_others": _median(samples, _others_cores, lambda value: f"{value:.2f} cores"),
        "run_queue_wait": _median(samples, _wait_share, format_share),
        "other_load": "; ".join(_other_load(samples)),
        "not_seen": samples[0].conditions.hidden,
        "notes": "; ".join(s.note for s in samples if s.note),
    }
    return tuple(f"{name}={text}" for name, text in facts.items() if text)


def _other_load(samples: tuple[Sample, ...]) -> tuple[str, ...]:
    """Name who computed in the most disturbed of the samples that were disturbed."""
    loads = [sample.conditions.cpu for sample in samples if sample.conditions.cpu and sample.conditions.cpu.disturbed]
    return max(loads, key=lambda load: load.others_cores).busiest if loads else ()


def _others_cores(sample: Sample) -> float | None:
    return sample.conditions.cpu.others_cores if sample.conditions.cpu else None


def _wait_share(sample: Sample) -> float | None:
    return sample.conditions.cpu.wait_share if sample.conditions.cpu else None


def _median(samples: tuple[Sample, ...], value: Callable[[Sample], float | None], write: Callable[[float], str]) -> str:
    known = [found for found in map(value, samples) if found is not None]
    return write(median(known)) if known else "unknown"
