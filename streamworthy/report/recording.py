"""Putting a gate's samples into pytest-benchmark, so that ``--benchmark-save`` and ``--benchmark-compare`` work.

pytest-benchmark times what it calls; a measurement's time of interest is a part of it. So everything is measured first
and then replayed on a virtual clock. The value saved for each round is the metric's seconds: an episode's, or those
that one GiB takes, because a disk's rounds are cut to a time and not to a size.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from streamworthy.facts.bandwidth import BandwidthFacts
from streamworthy.facts.disk import LatencyReads, SequentialReads, SlabReads, SustainedReads
from streamworthy.facts.episode import Series

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from streamworthy.facts.disk import DiskState, ReadRate
    from streamworthy.facts.episode import Sample

    Facts = TypeVar("Facts")

_GIB = 2**30
_MOST_ROUNDS = 500


class VirtualClock:
    """A timer that moves only when told: ``@pytest.mark.benchmark(timer=clock)``."""

    def __init__(self) -> None:
        """Start at zero."""
        self._seconds = 0.0

    def __call__(self) -> float:
        """Give the time in seconds."""
        return self._seconds

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._seconds += seconds


class Benchmark(Protocol):
    """The part of pytest-benchmark's fixture that is used."""

    extra_info: dict[str, Any]

    def pedantic(self, target: Callable[..., object], *, setup: Callable[[], object], rounds: int) -> object:
        """Call target once a round, after setup."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """What is saved of a measurement: seconds of each round, in the order taken, and what they were taken in."""

    seconds: tuple[float, ...]  # empty: nothing was measured
    info: dict[str, Any]


def record(found: Facts, clock: VirtualClock, benchmark: Callable[[], Benchmark]) -> Facts:
    """Record what was measured and give it back, to be judged.

    ``benchmark`` gives the fixture, made with ``clock`` as its timer; it is asked for only when there are rounds,
    because an unused fixture is a warning.
    """
    rounds = rounds_of(found)
    seconds = rounds.seconds[:_MOST_ROUNDS]
    if seconds:
        fixture, replayed = benchmark(), iter(seconds)
        fixture.extra_info.update(rounds.info)
        fixture.pedantic(clock.advance, setup=lambda: ((next(replayed),), {}), rounds=len(seconds))
    return found


@singledispatch
def rounds_of(found: object) -> Rounds:
    """Give the rounds of a measurement. TypeError for what is none."""
    raise TypeError(f"{type(found).__name__}: found no rounds in it")


@rounds_of.register
def _(found: Series) -> Rounds:
    samples = found.samples
    return Rounds(
        seconds=tuple(sample.seconds for sample in samples),
        info={
            "gate": found.metric,
            "state": found.state,
            "tokens_per_second": [rate(sample) for sample in samples],
            "device_bytes": [sample.device_bytes for sample in samples],
            "major_faults": [sample.major_faults for sample in samples],
            "resident_share": [sample.resident_share for sample in samples],
        },
    )


@rounds_of.register
def _(found: SequentialReads) -> Rounds:
    return _of_reads([found.eight, found.one], found.state)


@rounds_of.register
def _(found: SlabReads) -> Rounds:
    sizes = sorted(found.sizes, key=lambda size: size.eight.rate_bytes_per_second if size.eight else 0.0)
    paths = [path for size in sizes for path in (size.eight, size.one, size.mapped, size.populated)]
    return _of_reads(paths, found.state)


@rounds_of.register
def _(found: LatencyReads) -> Rounds:
    info = {"reads_per_second_at_depth_32": found.iops_many, "p99_seconds": found.p99_seconds}
    return Rounds(seconds=found.latencies_seconds, info=_state(found.state) | info)


@rounds_of.register
def _(found: SustainedReads) -> Rounds:
    info = {"celsius_before": found.celsius_before, "celsius_after": found.celsius_after, "read_again": found.wrapped}
    return _of_rates(found.rates_bytes_per_second, _state(found.state) | info)


@rounds_of.register
def _(found: BandwidthFacts) -> Rounds:
    info = {"threads": found.knee_threads_count, "working_set_bytes": found.working_set_bytes}
    return _of_rates(found.at_knee.rates_bytes_per_second, info)


def _of_reads(paths: Sequence[ReadRate | None], state: DiskState) -> Rounds:
    """Take the first path that was measured for the seconds, and tell of all."""
    measured = [path for path in paths if path is not None]
    info = _state(state) | {
        f"{each.path} x{each.lanes_count}, {each.block_bytes} bytes": _told(each) for each in measured
    }
    return _of_rates(measured[0].rates_bytes_per_second if measured else (), info)


def _told(path: ReadRate) -> dict[str, Any]:
    return {
        "bytes_per_second": list(path.rates_bytes_per_second),
        "useful_bytes": path.useful_bytes,
        "device_bytes": path.device_bytes,
        "resident_share": path.resident_share,
    }


def _of_rates(rates: Sequence[float], info: dict[str, Any]) -> Rounds:
    return Rounds(
        seconds=tuple(_GIB / each for each in rates),
        info={"seconds_of": "1 GiB", "bytes_per_second": list(rates)} | info,
    )


def _state(state: DiskState) -> dict[str, Any]:
    return {"method": state.method, "devices": list(state.devices), "doubts": list(state.doubts)}


def rate(sample: Sample) -> float | None:
    """Tokens a second; None for a load."""
    return sample.tokens / sample.seconds if sample.tokens and sample.seconds > 0 else None
