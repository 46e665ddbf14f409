"""A miss that others may have caused is not this machine's: they only slow, so a pass stays one. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from streamworthy.criteria.bottleneck import NEAR_NOTHING_SHARE, Bottleneck, find_bottleneck
from streamworthy.criteria.confirmed import confirm, remedies
from streamworthy.criteria.picture import make_picture
from streamworthy.facts.cause import Cause
from streamworthy.units import format_bytes, format_share
from streamworthy.verdict import Verdict, Word

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamworthy.criteria.spec import Limit
    from streamworthy.facts.counters import Counters
    from streamworthy.facts.cpu_load import CpuLoad
    from streamworthy.facts.episode import Sample, Series

_BOTTLENECK = "bottleneck="
_ROOM_RATIO = 1.05  # page tables, and what the kernel keeps free
_LOAD_FIX = ("end that process, or wait for it, and run again", "ps aux --sort=-%cpu | head")
_READER_FIX = ("end that process and run again", "sudo iotop -oP   # who reads")
_CACHE_FIX = ("close what takes the memory or drops its cache, and run again", "ps aux --sort=-rss | head")


def despite_load(
    series: Series,
    limit: Limit,
    judge: Callable[[Series], Verdict],
    *,
    misses: Callable[[Series], bool] | None = None,
) -> Verdict:
    """Judge a series and name the cause of a miss; one that samples taken in peace do not show is inconclusive.

    ``misses`` tells whether samples miss the limit by themselves, however few; None: as ``judge`` finds them.
    An advised limit keeps its miss, which is advice, with the disturber as the cause.
    """
    found = judge(series)
    if found.word is not Word.FAIL:
        return name_cause(series, found)
    behind, disturbed = _cause(series, series.samples), disturbances(series)
    quiet = tuple(sample for sample in series.samples if not _disturbance(series, sample))
    if not disturbed or _misses_anyway(series, quiet, misses or _judged_so(judge)):
        cause = behind if len(quiet) == len(series.samples) else _cause(series, quiet)
        return replace(_with(found, cause), cause=cause.told, fix=cause.fix)
    word = found.word if limit.level == "advise" else Word.INCONCLUSIVE
    return replace(_with(found, disturbed), word=word, cause=disturbed.told, fix=disturbed.fix)


def name_cause(series: Series, found: Verdict) -> Verdict:
    """Add to the evidence of any word what held the engine back, or who disturbed it; nothing where nothing ran."""
    told = any(line.startswith(_BOTTLENECK) for line in found.evidence)
    if told or not series.samples or found.word is Word.NOT_APPLICABLE:
        return found
    return _with(found, disturbances(series) or _cause(series, series.samples))


def _cause(series: Series, samples: tuple[Sample, ...]) -> Bottleneck:
    found, made = find_bottleneck(make_picture(series, samples)), series.interventions
    return confirm(replace(found, fix=(*found.fix, *remedies(made, series.workload.threads_count))), made)


def _with(found: Verdict, cause: Bottleneck) -> Verdict:
    return replace(found, evidence=(*found.evidence, f"{_BOTTLENECK}{cause.told}"))


def _misses_anyway(series: Series, quiet: tuple[Sample, ...], misses: Callable[[Series], bool]) -> bool:
    if 2 * len(quiet) <= len(series.samples):
        return False
    return misses(replace(series, samples=quiet, wanted_count=len(quiet)))


def _judged_so(judge: Callable[[Series], Verdict]) -> Callable[[Series], bool]:
    return lambda series: judge(series).word is Word.FAIL


def disturbances(series: Series) -> Bottleneck | None:
    """Say by whom samples were disturbed, and in how many of them; None: by nobody."""
    words = [_disturbance(series, sample) for sample in series.samples]
    counted = {word: words.count(word) for word in _TELL if word in words}
    if not counted:
        return None
    word = max(counted, key=lambda each: counted[each])
    tell, fix = _TELL[word]
    within = [sample for sample, each in zip(series.samples, words, strict=True) if each == word]
    reason = f"in {len(within)} of {len(words)} episodes {tell(tuple(within))}"
    return Bottleneck(word=Cause.CACHE_DISTURBED if word == _CACHE else Cause.OTHER_LOAD, reason=reason, fix=fix)


_CPU, _READER, _CACHE = "cpu", "reader", "cache"


def _disturbance(series: Series, sample: Sample) -> str:
    counters, resident = sample.counters, series.state == "warm, resident"
    nothing = NEAR_NOTHING_SHARE * series.workload.bytes_per_token * max(1, sample.tokens)
    if sample.device_bytes > nothing and (resident or (series.state == "warm, steady" and _fits(series, counters))):
        return _CACHE
    if counters.cpu and counters.cpu.disturbed:
        return _CPU
    return _READER if counters.others_read and not resident else ""


def _fits(series: Series, counters: Counters) -> bool:
    """Tell whether weights and engine have room in memory together: then somebody keeps the weights out of it."""
    if counters.anonymous_bytes is None:
        return False
    return _ROOM_RATIO * series.workload.file_bytes + counters.anonymous_bytes < series.workload.available_bytes


def _tell_load(samples: tuple[Sample, ...]) -> str:
    worst = max(
        (sample.counters.cpu for sample in samples if sample.counters.cpu),
        key=lambda load: load.others_cores + load.steal_cores,
    )
    waited = (worst.wait_share or 0.0) / max(1, worst.threads_count)
    return f"{describe_load(worst)}; each thread of the engine waited for a CPU {format_share(waited)} of the time"


def describe_load(load: CpuLoad) -> str:
    """Name who else computes, or how much is taken by nobody that can be seen."""
    if load.steal_cores > load.others_cores:
        return f"other guests of the hypervisor took {load.steal_cores:.2f} cores (steal)"
    if load.busiest:
        return f"{'; '.join(load.busiest)} ({load.others_cores:.2f} cores in all)"
    return f"processes that cannot be seen or have ended used {load.others_cores:.2f} cores"


def _tell_reader(samples: tuple[Sample, ...]) -> str:
    worst = max(samples, key=lambda sample: sample.counters.device_bytes or 0)
    names = ", ".join(worst.disturbers) or "another reader"
    return (
        f"{names}: the device read {format_bytes(worst.counters.device_bytes or 0)}, "
        f"the engine {format_bytes(worst.counters.engine_bytes or 0)} of it"
    )


def _tell_cache(samples: tuple[Sample, ...]) -> str:
    worst = max(samples, key=lambda sample: sample.device_bytes)
    return f"weights that had been in memory were read again, {format_bytes(worst.device_bytes)} in one of them"


_TELL: dict[str, tuple[Callable[[tuple[Sample, ...]], str], tuple[str, ...]]] = {
    _CPU: (_tell_load, _LOAD_FIX),
    _READER: (_tell_reader, _READER_FIX),
    _CACHE: (_tell_cache, _CACHE_FIX),
}
