"""The decision rule tried on a machine's own samples: an A/A test that anybody can repeat. Pure, given the seed.

Each replay draws episodes from the samples that were taken and asks the rule about a limit at their median, where
every pass and every FAIL is false. Drawn one by one they are independent, and the rates must be at most the stated
one. Drawn in stretches of neighbours (circular block bootstrap: Politis and Romano 1992) they keep some of what
episodes owe to their predecessors. That is a rough reading, as the stretches are few: 30 independent episodes gave
0 to 15 %, 4 % on average; 30 with a lag-1 correlation of 0.5 gave 10 % on average, where 15 % is true.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isqrt, nextafter, sqrt
from random import Random
from statistics import median
from typing import TYPE_CHECKING

from streamworthy.stats import decide, meeting_of
from streamworthy.stats_plan import Step
from streamworthy.units import format_share

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from streamworthy.stats_plan import SequentialPlan

REPLAYS_COUNT = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What became of the replays, as shares of them."""

    pass_share: float
    fail_share: float
    inconclusive_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfCheck:
    """The rule on this machine's samples: ``fail_share`` and ``pass_share`` at the median are false, both."""

    replays_count: int
    stated_error_share: float
    at_median: Rates  # episodes drawn one by one
    at_median_in_blocks: Rates  # episodes drawn in stretches of ``block_count`` neighbours
    block_count: int
    at_limit: Rates  # drawn one by one: how sure the word under the real limit would be

    @property
    def holds(self) -> bool:
        """Say whether both false rates keep to the stated one, within three standard errors of the replays."""
        stated = self.stated_error_share
        slack = 3 * sqrt(stated * (1 - stated) / self.replays_count)
        return max(self.at_median.fail_share, self.at_median.pass_share) <= stated + slack

    @property
    def summary(self) -> str:
        """Say it in one line."""
        alone, blocks = self.at_median, self.at_median_in_blocks
        return (
            f"{self.replays_count} replays at the median: {format_share(alone.fail_share)} falsely FAIL, "
            f"{format_share(alone.pass_share)} falsely pass ({format_share(self.stated_error_share)} stated); "
            f"in blocks of {self.block_count}: {format_share(blocks.fail_share)} and {format_share(blocks.pass_share)}"
        )


def self_check(samples: Sequence[float], limit: float, *, at_least: bool, plan: SequentialPlan, seed: int) -> SelfCheck:
    """Replay a machine's samples 1,000 times for each rate; the same seed gives the same record.

    ``samples`` and ``limit`` as for ``decide``. Raises ValueError.
    """
    meeting_of(samples, limit, at_least=at_least)
    middle, values, block = median(samples), tuple(samples), isqrt(len(samples) - 1) + 1
    split = _splitter(values, middle)

    def replay(target: float, block: int, change: Callable[[float, Random], float]) -> Rates:
        random = Random(seed)  # noqa: S311 - a simulation, which has to be repeatable
        ended = dict.fromkeys(Step, 0)
        for _ in range(REPLAYS_COUNT):
            drawn = _draw(values, plan.looks[-1].count, block, random)
            found = decide([change(value, random) for value in drawn], target, at_least=at_least, plan=plan)
            ended[found.step] += 1
        return Rates(
            pass_share=ended[Step.PASS] / REPLAYS_COUNT,
            fail_share=ended[Step.FAIL] / REPLAYS_COUNT,
            inconclusive_share=ended[Step.INCONCLUSIVE] / REPLAYS_COUNT,
        )

    return SelfCheck(
        replays_count=REPLAYS_COUNT,
        stated_error_share=plan.error_share,
        at_median=replay(middle, 1, split),
        at_median_in_blocks=replay(middle, block, split),
        block_count=block,
        at_limit=replay(limit, 1, lambda value, _: value),
    )


def _draw(values: tuple[float, ...], count: int, block: int, random: Random) -> list[float]:
    """Draw ``count`` values in stretches of ``block`` neighbours; the last value's neighbour is the first."""
    drawn: list[float] = []
    while len(drawn) < count:
        start = int(random.random() * len(values))
        drawn += [values[(start + step) % len(values)] for step in range(block)]
    return drawn[:count]


def _splitter(values: tuple[float, ...], middle: float) -> Callable[[float, Random], float]:
    """Put draws that equal the median to either side of it, so that exactly half of all draws lie above."""
    equal = values.count(middle)
    upward_share = (len(values) / 2 - sum(value > middle for value in values)) / equal if equal else 0.0

    def split(value: float, random: Random) -> float:
        if value != middle:
            return value
        return nextafter(middle, inf if random.random() < upward_share else -inf)

    return split
