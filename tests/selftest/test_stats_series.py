"""Interval, serial correlation and drift: published values, and counts over all orders of a few values."""

from __future__ import annotations

from itertools import permutations
from math import exp
from statistics import fmean, pstdev

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamworthy.stats_series import (
    Interval,
    Serial,
    Trend,
    median_interval,
    order_interval,
    projected,
    serial_correlation,
    serial_deviation,
    trend,
)

SERIES = st.lists(st.integers(1, 40), min_size=1, max_size=30)


@pytest.mark.parametrize(
    ("count", "low", "high", "percent"),
    [
        (1, 1, 1, "0.0"),
        (5, 1, 5, "93.8"),
        (6, 1, 6, "96.9"),
        (8, 1, 8, "99.2"),
        (9, 2, 8, "96.1"),
        (10, 2, 9, "97.9"),
        (12, 3, 10, "96.1"),
        (15, 4, 12, "96.5"),
        (20, 6, 15, "95.9"),
    ],
)
def test_median_intervals_are_the_published_ones(count, low, high, percent):
    """The narrowest pair of values that covers 95 %, or the widest there is, with its exact coverage."""
    found = median_interval(range(1, count + 1))
    assert (found.low, found.high, f"{found.coverage_share * 100:.1f}") == (low, high, percent)


def test_a_narrower_interval_covers_less():
    """Second and seventh of eight cover the published 93.0 %, in whatever order they came."""
    found = order_interval([3, 8, 1, 6, 2, 7, 5, 4], 2)
    assert found == Interval(low=2, high=7, coverage_share=0.9296875)


def test_serial_deviation_agrees_with_all_orders():
    """Over all 720 orders of six values rho is 0 on average and deviates as computed."""
    found = [serial_correlation(order).rho for order in permutations(range(6))]
    assert fmean(found) == pytest.approx(0, abs=1e-12)
    assert pstdev(found) == pytest.approx(serial_deviation(6))


def test_neighbours_that_agree_are_flagged():
    """A slow wave of 20 episodes is not independent; the same values dealt alternately are no cause for alarm."""
    wave = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10.5, 9.5, 8.5, 7.5, 6.5, 5.5, 4.5, 3.5, 2.5, 1.5]
    found = serial_correlation(wave)
    assert found.flagged
    assert found.rho > 0.9
    assert found.chance_share < 0.001
    dealt = serial_correlation([value for pair in zip(wave[:10], wave[19:9:-1], strict=True) for value in pair][::3])
    assert not dealt.flagged


@pytest.mark.parametrize(("count", "flagged"), [(14, False), (15, True), (16, True)])
def test_serial_correlation_is_acted_on_from_15(count, flagged):
    """Below, at and above the fewest episodes, on a series that rises throughout."""
    found = serial_correlation(range(count))
    assert found.flagged is flagged
    assert found.rho > 0.7


@pytest.mark.parametrize("values", [[1.0], [1.0, 2.0], [3.0] * 20])
def test_what_has_no_correlation_has_none(values):
    """Too few values, or all equal, give no rho, and no alarm."""
    assert serial_correlation(values) == Serial(rho=None, chance_share=1.0, flagged=False)


def test_trend_chance_agrees_with_all_orders():
    """Over all 5,040 orders of seven values each chance is the share of orders at least as extreme."""
    found = [trend(order) for order in permutations(range(7))]
    for example in found[:: len(found) // 15]:
        extreme = sum(abs(other.tau) >= abs(example.tau) for other in found)
        assert example.chance_share == pytest.approx(extreme / len(found))
    assert sum(each.flagged for each in found) == 14  # 0.28 %: 0 or 1 inversion, either way


def test_equal_values_raise_no_alarms():
    """With values that repeat, the stated false alarm still is an upper bound."""
    found = [trend(order).flagged for order in permutations((1, 1, 2, 2, 3, 3, 4))]
    assert sum(found) / len(found) <= 0.01


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([1.0], Trend(tau=0.0, chance_share=1.0, flagged=False)),
        ([1, 2, 3, 4], Trend(tau=1.0, chance_share=2 / 24, flagged=False)),
        ([1, 2, 3, 4, 5], Trend(tau=1.0, chance_share=2 / 120, flagged=True)),
        ([1, 2, 3, 5, 4], Trend(tau=0.8, chance_share=10 / 120, flagged=False)),
        ([1, 2, 3, 4, 5, 6], Trend(tau=1.0, chance_share=2 / 720, flagged=True)),
        ([1, 2, 3, 4, 6, 5], Trend(tau=13 / 15, chance_share=12 / 720, flagged=False)),
        ([1, 2, 3, 4, 5, 6, 7], Trend(tau=1.0, chance_share=2 / 5040, flagged=True)),
        ([7, 6, 5, 4, 3, 1, 2], Trend(tau=-19 / 21, chance_share=14 / 5040, flagged=True)),
        ([7, 6, 5, 4, 1, 3, 2], Trend(tau=-17 / 21, chance_share=54 / 5040, flagged=False)),
        ([5.0] * 9, Trend(tau=0.0, chance_share=1.0, flagged=False)),
    ],
)
def test_a_trend_is_flagged_where_chance_rarely_gives_it(values, found):
    """Five and six have to rise throughout, four are too few; seven may have one pair out of order, not two."""
    assert trend(values) == found


@pytest.mark.parametrize(
    ("values", "count", "expected"),
    [([10, 9, 8], 5, 6), ([5, 5, 5], 30, 5), ([1, 2, 3, 4, 500], 10, 10), ([2, 4], 1, 2)],
)
def test_a_drift_goes_on_in_a_line(values, count, expected):
    """The line through the episodes is not moved by one that is off it."""
    assert projected(values, count) == expected


@given(SERIES)
@settings(deadline=None)
def test_only_the_order_of_values_counts(values):
    """Any rising change of scale leaves rho and tau; turning values or time round turns tau and leaves rho."""
    bent = [exp(value / 10) for value in values]
    assert (serial_correlation(bent), trend(bent)) == (serial_correlation(values), trend(values))
    for turned in ([-value for value in values], values[::-1]):
        assert serial_correlation(turned) == serial_correlation(values)
        assert trend(turned).tau == -trend(values).tau
        assert trend(turned).chance_share == trend(values).chance_share


@given(SERIES)
@settings(deadline=None)
def test_chances_are_chances(values):
    """All shares lie between 0 and 1, tau and rho between -1 and 1, and the interval holds the middle."""
    interval, ordered = median_interval(values), sorted(values)
    assert 0 <= interval.coverage_share < 1
    assert interval.low <= ordered[len(values) // 2] <= interval.high
    assert 0 <= trend(values).chance_share <= 1
    assert -1 <= trend(values).tau <= 1
    rho = serial_correlation(values).rho
    assert rho is None or -1 <= rho <= 1
