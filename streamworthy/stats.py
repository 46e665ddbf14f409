"""Samples and a limit in, a decision with a known error out: pass, FAIL, go on, or leave it open. Pure.

The sampling unit is the episode: tokens of one episode are not independent. The rule is in ``stats_plan``. Two things
keep a pass or a FAIL from being given although the count is there: episodes that resemble their predecessor, since the
stated error holds for independent ones only (it quadruples at a lag-1 correlation of 0.5), and a drift that would carry
them across the limit within the episodes of the plan. Batching pairs is no cure for the former: it takes a correlation
of 0.5 only to 0.375. Nor is the test a full one, as too few episodes to see it are too few to act on (4.7 % grow to
19 %, and to 15 % with the test): independence has to come from how episodes are run, and ``stats_replay`` shows what
is left of the dependence.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from statistics import median
from typing import TYPE_CHECKING

from streamworthy.stats_plan import Step
from streamworthy.stats_series import (
    Interval,
    Serial,
    Trend,
    median_interval,
    order_interval,
    projected,
    serial_correlation,
    trend,
)
from streamworthy.units import format_share

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from streamworthy.stats_plan import SequentialPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What the first ``samples_count`` samples say; samples after a final step are not looked at.

    ``interval`` is the usual one for a number of samples set before. ``looked_interval`` stays valid although the
    samples were looked at several times, and agrees with the count: a limit inside it is undecided at this look.
    """

    step: Step
    samples_count: int
    meeting_count: int  # of them; equal to the limit is meeting it
    next_count: int | None  # samples to have at the next look; None once the step is final
    median: float
    margin_share: float  # of the limit; positive on the side that meets it
    interval: Interval
    looked_interval: Interval | None  # None where the plan does not look
    serial: Serial
    trend: Trend
    turns: bool  # the trend took a word back
    reason: str  # one line

    def evidence(self, write: Callable[[float], str]) -> tuple[str, ...]:
        """Write what is kept with a verdict, as ``key=value``; ``write`` formats one value for people."""
        low, high = write(self.interval.low), write(self.interval.high)
        rho = "unknown" if self.serial.rho is None else f"{self.serial.rho:.2f}"
        drift = f"tau {self.trend.tau:.2f}" if self.trend.flagged else "none seen"
        return (
            f"decision={self.reason}",
            f"margin={self.margin_share * 100:+.1f} %",
            f"median_interval={low} to {high} ({format_share(self.interval.coverage_share)})",
            f"serial_correlation={rho}",
            f"drift={drift}",
        )


def decide(samples: Sequence[float], limit: float, *, at_least: bool, plan: SequentialPlan) -> Decision:
    """Decide whether the true median of episodes meets a limit.

    ``samples`` in the order taken, at least one, in the limit's unit; ``limit`` above 0. Raises ValueError.
    """
    meeting = meeting_of(samples, limit, at_least=at_least)
    step, count = plan.walk(meeting)
    used = tuple(samples[:count])
    serial, drift, critical = serial_correlation(used), trend(used), plan.critical_count(count)
    doubt = ""
    if step in (Step.PASS, Step.FAIL):
        last = plan.looks[-1].count
        turns = drift.flagged and _meets(projected(used, last), limit, at_least=at_least) is not (step is Step.PASS)
        doubt = _doubt(serial, f"tau = {drift.tau:.2f}, by episode {last}" if turns else "")
    middle = median(used)
    return Decision(
        step=Step.INCONCLUSIVE if doubt else step,
        samples_count=count,
        meeting_count=sum(meeting[:count]),
        next_count=plan.needed(count) if step is Step.CONTINUE else None,
        median=middle,
        margin_share=(middle - limit if at_least else limit - middle) / limit,
        interval=median_interval(used),
        looked_interval=None if critical is None else _looked_interval(used, critical, plan),
        serial=serial,
        trend=drift,
        turns="drift" in doubt,
        reason=doubt or _reason(step, count, sum(meeting[:count]), plan),
    )


def meeting_of(samples: Sequence[float], limit: float, *, at_least: bool) -> tuple[bool, ...]:
    """Say of each sample whether it meets the limit; one that is equal does. Raises ValueError."""
    if not (isfinite(limit) and limit > 0):
        raise ValueError(f"limit: found {limit}, expected a number above 0")
    if not samples or not all(map(isfinite, samples)):
        raise ValueError(f"samples: found {tuple(samples)}, expected numbers, at least one")
    return tuple(_meets(value, limit, at_least=at_least) for value in samples)


def _meets(value: float, limit: float, *, at_least: bool) -> bool:
    return value >= limit if at_least else value <= limit


def _doubt(serial: Serial, turning: str) -> str:
    """Say why a series that has the count for a word does not get it; empty when it does."""
    if turning:
        return f"episodes drift, and going on so they cross the limit ({turning})"
    return f"episodes are not independent, rho = {serial.rho:.2f}" if serial.flagged else ""


def _looked_interval(used: tuple[float, ...], critical: int, plan: SequentialPlan) -> Interval:
    """Give all limits that this look would leave open: a repeated confidence interval (Jennison and Turnbull 1989)."""
    found = order_interval(used, len(used) - critical + 1)
    return Interval(low=found.low, high=found.high, coverage_share=1 - 2 * plan.error_share)


def _reason(step: Step, count: int, met: int, plan: SequentialPlan) -> str:
    if step is Step.FAIL:
        return f"{count - met} of {count} episodes miss the limit"
    found = f"{met} of {count} episodes meet the limit"
    if step is Step.CONTINUE:
        return f"{found}; the next look is at {plan.needed(count)}"
    if step is Step.INCONCLUSIVE:
        return f"{found}: the median is too close to it for {plan.looks[-1].count} episodes to tell"
    return found
