"""Which number each performance gate takes from an episode. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from streamworthy.facts.episode import Sample
from streamworthy.units import format_bytes, format_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamworthy.facts.episode import Episode, Phase

# Below this share of a token's bytes nothing worth the name is read: log files and late binding only.
_NEAR_ZERO_SHARE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One gate's number: from which kind of episode, and how."""

    gate: str
    kind: str  # "cold", "prompt" or "decode"
    sample: Callable[[Episode], Sample | None]  # None: this episode has no such part


def _sample(episode: Episode, phase: Phase | None, *, note: str = "") -> Sample | None:
    if phase is None:
        return None
    return Sample(
        seconds=phase.seconds,
        tokens=phase.tokens,
        device_bytes=phase.device_bytes,
        major_faults=phase.major_faults,
        resident_share=phase.before.share if phase.before else None,
        gap_seconds=_gaps(phase),
        note=note,
        counters=phase.counters,
        disturbers=episode.disturbers,
        hidden=episode.hidden,
    )


def _gaps(phase: Phase) -> tuple[float, ...]:
    return tuple(later - earlier for earlier, later in pairwise(phase.token_seconds))


def _load(episode: Episode) -> Sample | None:
    return _sample(episode, episode.phase("load"))


def _first_token_cold(episode: Episode) -> Sample | None:
    evicted = episode.phase("first_token_evicted")
    note = f"loaded, then evicted again: {format_seconds(evicted.seconds)}" if evicted else ""
    load, first = episode.phase("load"), episode.phase("first_token")
    sample = _sample(episode, load, note=note)
    if sample is None or first is None or episode.first_token_counters is None:
        return None
    return replace(
        sample,
        seconds=episode.first_token_seconds,
        tokens=first.tokens,
        device_bytes=sample.device_bytes + first.device_bytes,
        major_faults=sample.major_faults + first.major_faults,
        counters=episode.first_token_counters,
    )


def _first_token_warm(episode: Episode) -> Sample | None:
    return _sample(episode, episode.phase("first_token"))


def _prefill(episode: Episode) -> Sample | None:
    return _sample(episode, episode.phase("prefill"))


def _decode_cold(episode: Episode) -> Sample | None:
    phase = episode.phase("decode")
    return _sample(episode, phase, note=f"{format_bytes(phase.device_bytes / phase.tokens)} a token" if phase else "")


def _decode_warm(episode: Episode) -> Sample | None:
    # (n - 1) / (t_last - t_first): the first of the timed tokens only starts the clock
    phase = episode.phase("decode")
    sample = _sample(episode, phase)
    if phase is None or sample is None:
        return None
    arrivals, device = phase.token_seconds, phase.token_device_bytes
    return replace(
        sample,
        seconds=arrivals[-1] - arrivals[0],
        tokens=phase.tokens - 1,
        device_bytes=device[-1] - device[0],
        note=f"slowest token {format_seconds(max(sample.gap_seconds))}",
    )


LOAD = Metric(gate="load.mmap", kind="cold", sample=_load)
FIRST_TOKEN_COLD = Metric(gate="first_token.cold", kind="cold", sample=_first_token_cold)
FIRST_TOKEN_WARM = Metric(gate="first_token.warm", kind="prompt", sample=_first_token_warm)
PREFILL = Metric(gate="prefill.rate", kind="prompt", sample=_prefill)
DECODE_COLD = Metric(gate="decode.cold_rate", kind="cold", sample=_decode_cold)
DECODE_WARM = Metric(gate="decode.warm_rate", kind="decode", sample=_decode_warm)
METRICS = (LOAD, FIRST_TOKEN_COLD, FIRST_TOKEN_WARM, PREFILL, DECODE_COLD, DECODE_WARM)


def reads_nothing(samples: tuple[Sample, ...], bytes_per_token: int) -> bool:
    """Tell whether evicted weights came back without device reads: the file system's reads are not accounted."""
    read = sum(sample.device_bytes for sample in samples)
    tokens = sum(sample.tokens for sample in samples)
    return bool(samples) and read < tokens * bytes_per_token * _NEAR_ZERO_SHARE
