"""A miss beside a busy neighbour is not this machine's: load only slows, so a pass stays one. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from streamworthy.units import format_share
from streamworthy.verdict import Verdict, Word

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamworthy.criteria.spec import Limit
    from streamworthy.facts.cpu_load import CpuLoad
    from streamworthy.facts.episode import Sample, Series

_LOAD_FIX = ("end that process, or wait for it, and run again", "ps aux --sort=-%cpu | head")
_CORES_FIX = ("taskset -cp $$                # the CPUs that this shell may use", "cat /sys/fs/cgroup/cpu.max")


def despite_load(
    series: Series,
    limit: Limit,
    judge: Callable[[Series], Verdict],
    *,
    misses: Callable[[Series], bool] | None = None,
) -> Verdict:
    """Judge a series; a miss is inconclusive when samples that were taken in peace do not show it alone.

    ``misses`` tells whether samples miss the limit by themselves, however few; None: as ``judge`` finds them.
    An advised limit keeps its miss, which is advice, with the disturber as the cause.
    """
    found = judge(series)
    if found.word is not Word.FAIL:
        return found
    loads = [sample.counters.cpu for sample in series.samples]
    if any(load is not None and load.cramped for load in loads):
        return replace(found, cause=_cramped(loads), fix=_CORES_FIX)
    quiet = tuple(sample for sample in series.samples if not (sample.counters.cpu and sample.counters.cpu.disturbed))
    if len(quiet) == len(series.samples) or _misses_anyway(series, quiet, misses or _judged_so(judge)):
        return found
    word = found.word if limit.level == "advise" else Word.INCONCLUSIVE
    return replace(found, word=word, cause=_disturbed(loads), fix=_LOAD_FIX)


def _misses_anyway(series: Series, quiet: tuple[Sample, ...], misses: Callable[[Series], bool]) -> bool:
    if 2 * len(quiet) <= len(series.samples):
        return False
    return misses(replace(series, samples=quiet, wanted_count=len(quiet)))


def _judged_so(judge: Callable[[Series], Verdict]) -> Callable[[Series], bool]:
    return lambda series: judge(series).word is Word.FAIL


def _cramped(loads: list[CpuLoad | None]) -> str:
    load = next(load for load in loads if load is not None and load.cramped)
    return (
        f"the engine's {load.threads_count} threads may use {load.allowed_cores:g} CPUs (affinity or quota) "
        "and wait for each other"
    )


def _disturbed(loads: list[CpuLoad | None]) -> str:
    busy = [load for load in loads if load is not None and load.disturbed]
    worst = max(busy, key=lambda load: load.others_cores + load.steal_cores)
    waited = (worst.wait_share or 0.0) / max(1, worst.threads_count)
    return (
        f"other load in {len(busy)} of {len(loads)} episodes: {describe_load(worst)}; "
        f"each thread of the engine waited for a CPU {format_share(waited)} of the time"
    )


def describe_load(load: CpuLoad) -> str:
    """Name who else computes, or how much is taken by nobody that can be seen."""
    if load.steal_cores > load.others_cores:
        return f"other guests of the hypervisor took {load.steal_cores:.2f} cores (steal)"
    if load.busiest:
        return f"{'; '.join(load.busiest)} ({load.others_cores:.2f} cores in all)"
    return f"processes that cannot be seen or have ended used {load.others_cores:.2f} cores"
