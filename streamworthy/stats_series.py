"""What a series of episodes tells beside its word: the median's interval, serial correlation, drift. Pure.

All tests rest on the order and the ranks of the values, so no distribution is assumed.
Sources: David and Nagaraja, Order Statistics, 7.1 (interval); Bartels, JASA 77 (1982) (rank von Neumann ratio);
Mann, Econometrica 13 (1945) and Kendall, Rank Correlation Methods (trend).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, pairwise
from math import erfc, factorial, sqrt
from statistics import median
from typing import TYPE_CHECKING

from streamworthy.stats_plan import tail_share

if TYPE_CHECKING:
    from collections.abc import Sequence

COVERAGE_SHARE = 0.95
SERIAL_FALSE_ALARM_SHARE = 0.05  # of independent series, at each test
SERIAL_FEWEST_COUNT = 15  # at 7, a rho of 0.5 is seen in one series of four; at 15 in nine of twenty
# At most, as the distribution is discrete; 0.3 % at 7 episodes. The fewest that decide anything, 5, are flagged where
# each is below the one before, or above: 1.7 % of machines without a drift, and those open only near their limit.
TREND_FALSE_ALARM_SHARE, _OF_FIVE_SHARE = 0.01, 0.02
TREND_FEWEST_COUNT = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Two of the values that hold the true median between them, with what chance."""

    low: float
    high: float
    coverage_share: float  # exact; at least this much where values repeat


@dataclass(frozen=True, slots=True, kw_only=True)
class Serial:
    """How much an episode resembles the one before it."""

    rho: float | None  # lag-1, of the ranks; 0 on average when independent. None: below 3 values, or all equal
    chance_share: float  # of this rho or a higher one in an independent series; 1 where there is no rho
    flagged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """Whether the values rise or fall in the order taken, as caches fill and devices heat up."""

    tau: float  # Kendall's, against the order: -1 falls in every pair, 1 rises in every pair
    chance_share: float  # of this tau or one further from 0, either way, when order means nothing
    flagged: bool


def order_interval(values: Sequence[float], rank: int) -> Interval:
    """Give the ``rank``-th value from below and from above, 1-based, and how surely the median lies between."""
    ordered = sorted(values)
    count = len(ordered)
    return Interval(
        low=ordered[rank - 1], high=ordered[count - rank], coverage_share=1 - 2 * tail_share(count, count - rank + 1)
    )


def median_interval(values: Sequence[float]) -> Interval:
    """Give the narrowest interval of order statistics with at least 95 % coverage, for a number of values set before.

    Below 6 values none reaches that: the widest is given, with what it covers.
    """
    count = len(values)
    ranks = range((count + 1) // 2, 1, -1)
    wide_enough = (rank for rank in ranks if 1 - 2 * tail_share(count, count - rank + 1) >= COVERAGE_SHARE)
    return order_interval(values, next(wide_enough, 1))


def serial_correlation(values: Sequence[float]) -> Serial:
    """Measure the lag-1 correlation of the ranks, and test whether it is above zero.

    rho = 1 - RVN / 2 with the rank von Neumann ratio RVN, whose mean is 2 and whose variance is known exactly; its
    distribution is close to normal from 15 values on, where ``flagged`` may be set.
    """
    count = len(values)
    ranks = _ranks(values)
    spread = sum((rank - (count + 1) / 2) ** 2 for rank in ranks)
    if count < 3 or spread == 0:  # noqa: PLR2004 - two values have one order and its reverse
        return Serial(rho=None, chance_share=1.0, flagged=False)
    rho = 1 - sum((later - rank) ** 2 for rank, later in pairwise(ranks)) / spread / 2
    chance = erfc(rho / serial_deviation(count) / sqrt(2)) / 2
    flagged = count >= SERIAL_FEWEST_COUNT and chance <= SERIAL_FALSE_ALARM_SHARE
    return Serial(rho=rho, chance_share=chance, flagged=flagged)


def serial_deviation(count: int) -> float:
    """Give the standard deviation of rho over all orders of ``count`` different values (Bartels, exact)."""
    variance = (count - 2) * (5 * count**2 - 2 * count - 9) / (5 * count * (count + 1) * (count - 1) ** 2)
    return sqrt(variance)


def trend(values: Sequence[float]) -> Trend:
    """Test for a monotone trend with the exact distribution of Kendall's score; equal values count for neither way."""
    count = len(values)
    pairs_count = count * (count - 1) // 2
    score = sum((later > value) - (later < value) for value, later in combinations(values, 2))
    chance = _score_chance(count, abs(score))
    return Trend(
        tau=score / pairs_count if pairs_count else 0.0,
        chance_share=chance,
        flagged=count >= TREND_FEWEST_COUNT
        and chance <= (TREND_FALSE_ALARM_SHARE if count > TREND_FEWEST_COUNT else _OF_FIVE_SHARE),
    )


def projected(values: Sequence[float], count: int) -> float:
    """Give the value expected of the ``count``-th episode if the drift goes on (line of Theil 1950 and Sen 1968)."""
    places = range(1, len(values) + 1)
    pairs = combinations(zip(places, values, strict=True), 2)
    slope = median((later - value) / (after - place) for (place, value), (after, later) in pairs)
    return median(value + slope * (count - place) for place, value in zip(places, values, strict=True))


def _ranks(values: Sequence[float]) -> list[float]:
    """Rank from 1; equal values share the middle of their ranks."""
    ordered = sorted(values)
    first = {value: place for place, value in reversed(list(enumerate(ordered)))}
    last = {value: place for place, value in enumerate(ordered)}
    return [(first[value] + last[value]) / 2 + 1 for value in values]


def _score_chance(count: int, score: int) -> float:
    """Give the share of all orders of ``count`` different values whose score is this far from 0, either way."""
    if score == 0:
        return 1.0
    # A score s stands for (pairs - s) / 2 inversions; the distribution is symmetric.
    most = (count * (count - 1) // 2 - score) // 2
    return 2 * sum(_inversions(count)[: most + 1]) / factorial(count)


@lru_cache
def _inversions(count: int) -> tuple[int, ...]:
    """Count the orders of ``count`` different values by their number of inversions."""
    orders = [1]
    for size in range(2, count + 1):
        longer = [0] * (len(orders) + size - 1)
        for inversions, number in enumerate(orders):
            for added in range(size):
                longer[inversions + added] += number
        orders = longer
    return tuple(orders)
