"""Putting a gate's samples into pytest-benchmark, so that ``--benchmark-save`` and ``--benchmark-compare`` work.

pytest-benchmark times what it calls; an episode's time of interest is a part of it. So the episodes are run first
and then replayed on a virtual clock: the value saved for each round is the metric's seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamworthy.facts.episode import Sample, Series


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


def record(series: Series, clock: VirtualClock, benchmark: Callable[[], Benchmark]) -> Series:
    """Record a series' samples and give it back, to be judged.

    ``benchmark`` gives the fixture, made with ``clock`` as its timer; it is asked for only when there are samples,
    because an unused fixture is a warning.
    """
    if series.samples:
        fixture, replayed = benchmark(), iter(series.samples)
        fixture.extra_info.update(extra_info(series))
        fixture.pedantic(
            lambda sample: clock.advance(sample.seconds),
            setup=lambda: ((next(replayed),), {}),
            rounds=len(series.samples),
        )
    return series


def extra_info(series: Series) -> dict[str, Any]:
    """Give what is saved beside the seconds: rates and the state of each sample, in the order taken."""
    return {
        "gate": series.metric,
        "state": series.state,
        "tokens_per_second": [rate(sample) for sample in series.samples],
        "device_bytes": [sample.device_bytes for sample in series.samples],
        "major_faults": [sample.major_faults for sample in series.samples],
        "resident_share": [sample.resident_share for sample in series.samples],
    }


def rate(sample: Sample) -> float | None:
    """Tokens a second; None for a load."""
    return sample.tokens / sample.seconds if sample.tokens and sample.seconds > 0 else None
