"""The rule on a machine's own samples: repeatable, honest where they repeat, and telling where they depend."""

from __future__ import annotations

from math import exp
from random import Random

import pytest

from streamworthy.stats_plan import plan_for
from streamworthy.stats_replay import Rates, SelfCheck, self_check

PLAN = plan_for("standard", 1)


def wandering(seed, count, rho):
    """Give episodes that vary by 5 %, each resembling the one before it by ``rho``."""
    random = Random(seed)  # noqa: S311 - a simulation
    value, found = random.gauss(0, 1), []
    for _ in range(count):
        found.append(10 * exp(0.05 * value))
        value = rho * value + (1 - rho**2) ** 0.5 * random.gauss(0, 1)
    return found


def test_false_rates_keep_to_the_stated_one():
    """On independent episodes false FAILs and false passes at the median are as rare as stated, and repeatable."""
    samples = wandering(1, 21, 0.0)
    found = self_check(samples, 9.0, at_least=True, plan=PLAN, seed=7)
    assert found.holds
    assert found.at_median.fail_share == pytest.approx(PLAN.error_share, abs=0.02)
    assert found.at_median.pass_share == pytest.approx(PLAN.error_share, abs=0.02)
    assert found.at_limit.pass_share > 0.95
    assert found == self_check(samples, 9.0, at_least=True, plan=PLAN, seed=7)
    assert found != self_check(samples, 9.0, at_least=True, plan=PLAN, seed=8)


def test_dependence_shows_in_blocks():
    """Episodes that resemble each other fool the rule more often than stated, and only blocks of them show it."""
    found = self_check(wandering(3, 30, 0.7), 9.0, at_least=True, plan=PLAN, seed=7)
    assert found.holds
    assert found.block_count == 6
    assert found.at_median_in_blocks.fail_share + found.at_median_in_blocks.pass_share > 4 * PLAN.error_share


def test_blocks_keep_neighbours():
    """Episodes that alternate about the median never lead far in stretches of neighbours, only when drawn singly."""
    found = self_check([9.0, 11.0] * 8, 9.0, at_least=True, plan=PLAN, seed=7)
    assert found.block_count == 4
    assert found.at_median_in_blocks == Rates(pass_share=0.0, fail_share=0.0, inconclusive_share=1.0)
    assert found.at_median.fail_share > 0.02


@pytest.mark.parametrize("samples", [[10.0, 10.0, 10.0, 12.0, 9.0], [10.0] * 7], ids=["some", "all"])
def test_equal_samples_are_put_to_either_side(samples):
    """Values at the median would all meet a limit there; dealt to both sides they make no false word likelier."""
    assert self_check(samples, 20.0, at_least=True, plan=PLAN, seed=7).holds


def test_the_real_limit_is_asked_in_its_own_direction():
    """Samples of 10 s pass at most 20 s and fail at most 5 s, in every replay; the line says what was found."""
    samples = [9.8, 10.1, 10.3, 9.9, 10.2, 10.0]
    found = self_check(samples, 20.0, at_least=False, plan=plan_for("quick", 9), seed=7)
    assert found.at_limit == Rates(pass_share=1.0, fail_share=0.0, inconclusive_share=0.0)
    failed = self_check(samples, 5.0, at_least=False, plan=plan_for("quick", 9), seed=7)
    assert failed.at_limit == Rates(pass_share=0.0, fail_share=1.0, inconclusive_share=0.0)
    assert failed.at_median == found.at_median
    assert found.summary.startswith("1000 replays at the median: ")
    assert "(4.2 % stated); in blocks of 3: " in found.summary


@pytest.mark.parametrize(("fail_share", "holds"), [(0.04, True), (0.05, True), (0.067, True), (0.068, False)])
def test_holds_within_three_standard_errors(fail_share, holds):
    """1,000 replays know a rate of 4.73 % to within 2.01 %: at, below and above that."""
    rates = Rates(pass_share=0.0, fail_share=fail_share, inconclusive_share=1 - fail_share)
    found = SelfCheck(
        replays_count=1000,
        stated_error_share=PLAN.error_share,
        at_median=rates,
        at_median_in_blocks=rates,
        block_count=3,
        at_limit=rates,
    )
    assert found.holds is holds


def test_no_samples_no_replay():
    """What ``decide`` refuses is refused here, in the same words."""
    with pytest.raises(ValueError, match="at least one"):
        self_check([], 1.0, at_least=True, plan=PLAN, seed=1)
