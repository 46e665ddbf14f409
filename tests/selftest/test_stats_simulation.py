"""The stated error rates on simulated machines: they hold for independent episodes, and break when they should."""

from __future__ import annotations

from math import exp, log, sqrt
from random import Random

import pytest

from streamworthy.stats import decide
from streamworthy.stats_plan import Step, plan_for
from streamworthy.stats_series import median_interval, serial_correlation, trend

SINGLE = plan_for("standard", 1)
RUNS = 2000


def log_normal(variation):
    """Draw rates with median 1 and a coefficient of variation."""
    return lambda random: exp(sqrt(log(1 + variation**2)) * random.gauss(0, 1))


def heavy(random):
    """Draw rates with median 1 and no mean: odds of a uniform chance, squared."""
    chance = random.random()
    return (chance / (1 - chance)) ** 2


MACHINES = {
    "cv 3 %": log_normal(0.03),
    "cv 10 %": log_normal(0.10),
    "cv 20 %": log_normal(0.20),
    "heavy tail": heavy,
}


def independent(draw, seed, count=30):
    """Give series of independent episodes."""
    random = Random(seed)  # noqa: S311 - a simulation
    return ([draw(random) for _ in range(count)] for _ in range(RUNS))


def dependent(rho, seed, count=30):
    """Give series of log-normal episodes (CV 10 %) that follow AR(1)."""
    random = Random(seed)  # noqa: S311 - a simulation
    for _ in range(RUNS):
        value, series = random.gauss(0, 1), []
        for _ in range(count):
            series.append(exp(0.1 * value))
            value = rho * value + sqrt(1 - rho**2) * random.gauss(0, 1)
        yield series


def shares(steps):
    """Count steps, as shares."""
    steps = list(steps)
    return {step: steps.count(step) / len(steps) for step in Step}


def slack(share, runs=RUNS):
    """Give four standard errors of a share in the runs made here."""
    return 4 * sqrt(share * (1 - share) / runs)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("plan", [SINGLE, plan_for("quick", 9)], ids=["standard", "quick"])
def test_a_machine_at_the_limit_is_misjudged_as_seldom_as_stated(machine, plan):
    """Whatever the distribution, false FAILs and false passes come at the computed rate, and not above it."""
    found = shares(
        decide(series, 1.0, at_least=True, plan=plan).step for series in independent(MACHINES[machine], machine)
    )
    assert found[Step.FAIL] == pytest.approx(plan.error_share, abs=slack(plan.error_share) + 0.005)
    assert found[Step.PASS] == pytest.approx(plan.error_share, abs=slack(plan.error_share) + 0.005)
    assert found[Step.FAIL] <= plan.error_share + slack(plan.error_share)
    assert found[Step.PASS] <= plan.error_share + slack(plan.error_share)


def test_values_that_repeat_do_not_raise_the_error():
    """Rates rounded to 5 %: at the limit no more false FAILs, and just below it no more false passes, than stated."""
    rounded = [[round(value * 20) / 20 for value in series] for series in independent(log_normal(0.10), 3)]
    stated = SINGLE.error_share + slack(SINGLE.error_share)
    meets = shares(decide(series, 1.0, at_least=True, plan=SINGLE).step for series in rounded)
    assert meets[Step.FAIL] <= stated
    assert meets[Step.PASS] > stated  # such a machine meets the limit more often than not, and a pass is true
    misses = shares(decide(series, 1.01, at_least=True, plan=SINGLE).step for series in rounded)
    assert misses[Step.PASS] <= stated


def test_dependent_episodes_break_the_stated_error():
    """AR(1) with rho 0.5 raises 4.7 % to 15-20 % for the counts alone; refusing what is seen takes some of it back."""
    series = list(dependent(0.5, 5))
    counted = shares(SINGLE.walk([value >= 1 for value in each])[0] for each in series)
    guarded = shares(decide(each, 1.0, at_least=True, plan=SINGLE).step for each in series)
    for word in (Step.PASS, Step.FAIL):
        assert 0.14 < counted[word] < 0.20
        assert SINGLE.error_share < guarded[word] < counted[word] - 0.015


def test_a_clear_machine_passes():
    """At a variation of 3 % a margin of 5 % passes nearly always, in about 8 episodes; a miss by 5 % fails."""
    found = [decide(series, 1 / 1.05, at_least=True, plan=SINGLE) for series in independent(log_normal(0.03), 8)]
    assert shares(each.step for each in found)[Step.PASS] > 0.99
    assert sum(each.samples_count for each in found) / RUNS < 9
    slow = (decide(series, 1.05, at_least=True, plan=SINGLE).step for series in independent(log_normal(0.03), 8))
    assert shares(slow)[Step.FAIL] > 0.99


@pytest.mark.parametrize("count", [15, 30])
def test_alarms_are_as_rare_as_stated(count):
    """Independent series are called dependent in 5 % and drifting in at most 1 %; rho 0.5 is seen far more often."""
    series = list(independent(log_normal(0.10), count, count))
    assert sum(serial_correlation(each).flagged for each in series) / RUNS == pytest.approx(0.05, abs=slack(0.05))
    assert sum(trend(each).flagged for each in series) / RUNS <= 0.01 + slack(0.01)
    seen = sum(serial_correlation(each).flagged for each in dependent(0.5, count, count)) / RUNS
    assert seen > (0.4 if count == 15 else 0.7)


@pytest.mark.parametrize("count", [6, 9, 15])
def test_the_interval_covers_the_median_as_stated(count):
    """The median's interval has its exact coverage on a distribution without a mean."""
    found = [median_interval(series) for series in independent(MACHINES["heavy tail"], count, count)]
    stated = found[0].coverage_share
    assert sum(each.low <= 1 <= each.high for each in found) / RUNS == pytest.approx(stated, abs=slack(stated))


def test_the_looked_interval_covers_the_median_at_every_look():
    """However often it was looked, all intervals of a series hold the median as surely as stated, together."""
    held = 0
    for series in independent(log_normal(0.10), 11):
        intervals = [
            decide(series[: look.count], 1.0, at_least=True, plan=SINGLE).looked_interval for look in SINGLE.looks
        ]
        held += all(each is None or each.low <= 1 <= each.high for each in intervals)
    assert held / RUNS >= 1 - 2 * SINGLE.error_share - slack(2 * SINGLE.error_share)


def test_every_heating_machine_is_noticed():
    """A machine that loses 2 % an episode is flagged in most series of 12 at a variation of 3 %."""
    random = Random(4)  # noqa: S311 - a simulation
    noise = log_normal(0.03)
    series = [[noise(random) * 0.98**place for place in range(12)] for _ in range(200)]
    assert sum(trend(each).flagged for each in series) > 180
