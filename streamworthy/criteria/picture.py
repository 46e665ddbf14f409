"""Samples of one gate in the few numbers that a cause is found from. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamworthy.facts.counters import Counters
    from streamworthy.facts.episode import Sample, Series
    from streamworthy.facts.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Medians over the samples; None: not told by this kernel, machine or user.

    ``decoding`` is True where experts were asked for one token after another, so that reads lie scattered.
    """

    workload: Workload
    decoding: bool
    resident: bool  # all weights were in memory before each sample
    tokens_per_second: float  # 0 for a load
    read_per_token_bytes: float  # by the engine; of a load, all of it
    read_bytes_per_second: float
    read_per_fault_bytes: float | None
    io_wait_share: float | None  # somebody waits for a disk
    device_busy_share: float | None
    refaulted_share: float | None  # of what the engine read
    swapped_in_share: float | None
    swapped_in_bytes_per_second: float | None
    anonymous_share: float | None  # of the weights
    engine_cores: float | None
    clock_share: float | None
    throttle_count: float | None
    allowed_cores: float | None  # CPUs that the engine's threads share and wait for; None: there are enough


def make_picture(series: Series, samples: tuple[Sample, ...]) -> Picture:
    """Sum up samples, of which there is at least one."""

    def of(value: Callable[[Sample], float | None]) -> float | None:
        known = [found for found in map(value, samples) if found is not None]
        return median(known) if known else None

    def known_of(value: Callable[[Sample], float]) -> float:
        return median(map(value, samples))

    return Picture(
        workload=series.workload,
        decoding=series.metric.startswith("decode."),
        resident=series.state == "warm, resident",
        tokens_per_second=known_of(lambda s: s.tokens / s.seconds),
        read_per_token_bytes=known_of(lambda s: s.device_bytes / max(1, s.tokens)),
        read_bytes_per_second=known_of(lambda s: s.device_bytes / s.seconds),
        read_per_fault_bytes=of(lambda s: s.device_bytes / s.major_faults if s.major_faults else None),
        io_wait_share=of(lambda s: s.counters.io_some_share),
        device_busy_share=of(lambda s: s.counters.device_busy_share),
        refaulted_share=of(lambda s: _part(s.counters, s.counters.refaulted_bytes)),
        swapped_in_share=of(lambda s: _part(s.counters, s.counters.swapped_in_bytes)),
        swapped_in_bytes_per_second=of(lambda s: _per_second(s.counters, s.counters.swapped_in_bytes)),
        anonymous_share=of(lambda s: _anonymous_share(s.counters, series.workload.file_bytes)),
        engine_cores=of(lambda s: s.counters.engine_cores),
        clock_share=of(lambda s: s.counters.clock_share),
        throttle_count=of(lambda s: s.counters.throttle_count),
        allowed_cores=of(lambda s: s.counters.cpu.allowed_cores if s.counters.cpu and s.counters.cpu.cramped else None),
    )


def _part(counters: Counters, value: int | None) -> float | None:
    return None if value is None else value / max(1, counters.engine_bytes or 0)


def _per_second(counters: Counters, value: int | None) -> float | None:
    return None if value is None else value / counters.seconds


def _anonymous_share(counters: Counters, file_bytes: int) -> float | None:
    anonymous = counters.anonymous_bytes
    return None if anonymous is None else (anonymous + (counters.swapped_bytes or 0)) / max(1, file_bytes)
