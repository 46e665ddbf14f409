"""The decision: each step at, below and above, whole records, and what must not change it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from math import inf, nan

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from streamworthy.stats import Decision, decide
from streamworthy.stats_plan import Step, plan_for
from streamworthy.stats_series import Interval, Serial, Trend
from streamworthy.units import format_tokens_per_second
from streamworthy.verdict import Word

QUICK = plan_for("quick", 9)
SINGLE = plan_for("standard", 1)
PLANS = st.sampled_from([QUICK, SINGLE, plan_for("standard", 5), plan_for("full", 12)])
VALUES = st.lists(st.integers(1, 999), min_size=1, max_size=35)
LIMIT = st.integers(1, 999)


def rate(samples, limit=10.0, plan=QUICK):
    """Decide on tokens a second, of which the limit is the least."""
    return decide(samples, limit, at_least=True, plan=plan)


def test_a_pass_is_told_whole():
    """Five of five above the limit pass at the first look, and the record says by how much and how surely."""
    assert rate([10.5, 11.0, 12.0, 10.75, 11.5, 1.0]) == Decision(
        step=Step.PASS,
        samples_count=5,
        meeting_count=5,
        next_count=None,
        median=11.0,
        margin_share=pytest.approx(0.1),
        interval=Interval(low=10.5, high=12.0, coverage_share=0.9375),
        looked_interval=Interval(low=10.5, high=12.0, coverage_share=1 - 2 * QUICK.error_share),
        serial=Serial(rho=pytest.approx(-0.05), chance_share=pytest.approx(0.5546, abs=1e-4), flagged=False),
        trend=Trend(tau=pytest.approx(0.4), chance_share=pytest.approx(58 / 120), flagged=False),
        turns=False,
        reason="5 of 5 episodes meet the limit",
    )


def test_a_fail_is_told_whole():
    """The same samples fail when the limit is the most they may be, with the margin turned."""
    found = decide([10.5, 11.0, 12.0, 10.75, 11.5], 10.0, at_least=False, plan=QUICK)
    assert found == replace(
        rate([10.5, 11.0, 12.0, 10.75, 11.5]),
        step=Step.FAIL,
        meeting_count=0,
        margin_share=pytest.approx(-0.1),
        reason="5 of 5 episodes miss the limit",
    )


@pytest.mark.parametrize(
    ("samples", "step", "next_count", "reason"),
    [
        ([11] * 4, Step.CONTINUE, 5, "4 of 4 episodes meet the limit; the next look is at 5"),
        ([11] * 4 + [9], Step.CONTINUE, 9, "4 of 5 episodes meet the limit; the next look is at 9"),
        ([11, 11, 9, 11, 11, 11, 11, 11, 11], Step.PASS, None, "8 of 9 episodes meet the limit"),
        ([9, 9, 11, 9, 9, 9, 9, 9, 9], Step.FAIL, None, "8 of 9 episodes miss the limit"),
        ([11, 9, 11, 9, 11], Step.CONTINUE, 9, "3 of 5 episodes meet the limit; the next look is at 9"),
        (
            [11, 9, 11, 9, 11, 9, 11],
            Step.INCONCLUSIVE,
            None,
            "3 of 6 episodes meet the limit: the median is too close to it for 15 episodes to tell",
        ),
    ],
)
def test_each_step_says_its_reason(samples, step, next_count, reason):
    """Before a look, at it, decided either way, and where it is in vain to go on."""
    found = rate(samples)
    assert (found.step, found.next_count, found.reason) == (step, next_count, reason)


def test_in_vain_is_said_as_early_as_it_is_sure():
    """Three misses leave 12 of 15 at most, where 13 are needed: the seventh episode is not waited for."""
    found = rate([11, 9, 11, 9, 11, 9, 11, 11, 11])
    assert (found.step, found.samples_count, found.looked_interval) == (Step.INCONCLUSIVE, 6, None)


@pytest.mark.parametrize(
    ("value", "at_least", "step"),
    [
        (9.999, True, Step.FAIL),
        (10.0, True, Step.PASS),
        (10.001, True, Step.PASS),
        (9.999, False, Step.PASS),
        (10.0, False, Step.PASS),
        (10.001, False, Step.FAIL),
    ],
)
def test_a_value_equal_to_the_limit_meets_it(value, at_least, step):
    """Bounds are inclusive in both directions, as for every other gate."""
    assert decide([value] * 5, 10.0, at_least=at_least, plan=QUICK).step is step


def test_episodes_that_depend_on_each_other_are_refused():
    """Twelve of fifteen would pass, but they come in waves, which the stated error does not cover."""
    waves = [9.1, 9.2, 9.3, 11, 12, 13, 14, 15, 16, 17, 16.5, 15.5, 14.5, 13.5, 12.5]
    assert SINGLE.walk([value >= 10 for value in waves]) == (Step.PASS, 15)
    found = rate(waves, plan=SINGLE)
    assert found.step is Step.INCONCLUSIVE
    assert found.reason == f"episodes are not independent, rho = {found.serial.rho:.2f}"
    mixed = [9.1, 16, 12, 9.2, 11, 16.5, 14, 9.3, 17, 12.5, 15.5, 13.5, 13, 15, 14.5]
    assert sorted(mixed) == sorted(waves)
    assert (rate(mixed, plan=SINGLE).step, rate(mixed, plan=SINGLE).samples_count) == (Step.PASS, 15)


@pytest.mark.parametrize(
    ("samples", "at_least", "step"),
    [
        ([16, 15, 14, 13, 12.5, 12, 11.5], True, Step.INCONCLUSIVE),  # heats up: 5.8 at episode 30
        ([16, 15.9, 15.8, 15.7, 15.6, 15.5, 15.4], True, Step.PASS),  # 13.1 at episode 30
        ([13.9, 13.7, 13.5, 13.3, 13.1, 12.9, 12.7], True, Step.INCONCLUSIVE),  # 8.1
        ([4, 5, 6, 7, 7.5, 8, 8.5], True, Step.INCONCLUSIVE),  # the cache fills: a FAIL that would not last
        ([4, 4.1, 4.2, 4.3, 4.4, 4.5, 4.6], True, Step.FAIL),  # 6.9
        ([11.5, 12, 12.5, 13, 14, 15, 16], True, Step.PASS),  # drifts away from the limit
        ([16, 15, 14, 13, 12.5, 12, 11.5], False, Step.INCONCLUSIVE),
        ([4, 5, 6, 7, 7.5, 8, 8.5], False, Step.INCONCLUSIVE),
        ([16, 14, 15, 13, 12, 12.5, 11.5], True, Step.PASS),  # two pairs out of order: chance, at 1 %
    ],
)
def test_a_drift_towards_the_limit_is_left_open(samples, at_least, step):
    """Seven of seven have the count, but a drift beyond chance would carry them across within the plan's episodes."""
    found = decide(samples, 10.0, at_least=at_least, plan=SINGLE)
    assert found.step is step
    assert found.reason.startswith("episodes drift, and going on so") is (step is Step.INCONCLUSIVE)


def test_a_drift_that_stays_on_one_side_is_flagged():
    """A machine that slows down a little but stays well above the limit passes, with its drift in the evidence."""
    found = rate([16, 15.9, 15.8, 15.7, 15.6, 15.5, 15.4], plan=SINGLE)
    assert found.trend == Trend(tau=-1.0, chance_share=2 / 5040, flagged=True)
    assert "drift=tau -1.00" in found.evidence(format_tokens_per_second)


def test_evidence_is_written_in_the_unit_of_the_gate():
    """Margin, interval with its coverage, correlation and drift go with a verdict."""
    assert rate([10.5, 11.0, 12.0, 10.75, 11.5]).evidence(format_tokens_per_second) == (
        "decision=5 of 5 episodes meet the limit",
        "margin=+10.0 %",
        "median_interval=10.5 tok/s to 12.0 tok/s (93.8 %)",
        "serial_correlation=-0.05",
        "drift=none seen",
    )
    assert "serial_correlation=unknown" in rate([11, 11, 11]).evidence(format_tokens_per_second)


@pytest.mark.parametrize(
    ("samples", "limit", "message"),
    [
        ([], 1.0, "samples: found (), expected numbers, at least one"),
        ([1.0, nan], 1.0, "samples: found (1.0, nan), expected numbers, at least one"),
        ([inf], 1.0, "samples: found (inf,), expected numbers, at least one"),
        ([1.0], 0.0, "limit: found 0.0, expected a number above 0"),
        ([1.0], nan, "limit: found nan, expected a number above 0"),
        ([1.0], -1.0, "limit: found -1.0, expected a number above 0"),
    ],
)
def test_what_is_no_measurement_is_refused(samples, limit, message):
    """A number that is none would count as a miss without a word."""
    with pytest.raises(ValueError, match="found") as caught:
        rate(samples, limit)
    assert str(caught.value) == message


def test_final_steps_are_words_of_a_verdict():
    """A step that ends a series can be given as the gate's word."""
    assert [Word(step) for step in Step if step is not Step.CONTINUE] == [Word.PASS, Word.FAIL, Word.INCONCLUSIVE]


@given(PLANS, VALUES, LIMIT, st.booleans(), st.integers(-20, 20))
@settings(deadline=None)
def test_the_unit_changes_nothing(plan, values, limit, at_least, power):
    """Samples and limit in another unit give the same decision, with median and intervals in that unit."""
    scale = 2.0**power
    found = decide(values, limit, at_least=at_least, plan=plan)
    scaled = decide([value * scale for value in values], limit * scale, at_least=at_least, plan=plan)
    looked = found.looked_interval
    assert scaled == replace(
        found,
        median=found.median * scale,
        interval=in_unit(found.interval, scale),
        looked_interval=looked and in_unit(looked, scale),
    )


def in_unit(interval, scale):
    """Write an interval in another unit."""
    return replace(interval, low=interval.low * scale, high=interval.high * scale)


@given(PLANS, VALUES, LIMIT, st.booleans())
@settings(deadline=None)
def test_any_rising_scale_gives_the_same_step(plan, values, limit, at_least):
    """No distribution is assumed: only the side of the limit and the order count, but for how far a drift would go."""
    found = decide(values, limit, at_least=at_least, plan=plan)
    assume(not found.trend.flagged)
    cubed = decide([value**3 for value in values], limit**3, at_least=at_least, plan=plan)
    for field in ("step", "samples_count", "meeting_count", "next_count", "serial", "trend", "reason"):
        assert getattr(cubed, field) == getattr(found, field)


@given(PLANS, VALUES, LIMIT)
@settings(deadline=None)
def test_pass_and_fail_are_judged_alike(plan, values, limit):
    """Turning the bound's direction swaps pass and FAIL, and leaves everything else open as it was."""
    assume(limit not in values)
    swapped = {Step.PASS: Step.FAIL, Step.FAIL: Step.PASS}
    least = decide(values, limit, at_least=True, plan=plan)
    most = decide(values, limit, at_least=False, plan=plan)
    assert most.step is swapped.get(least.step, least.step)
    assert most.margin_share == -least.margin_share
    assert most.meeting_count == least.samples_count - least.meeting_count
    kept = ("samples_count", "next_count", "median", "interval", "looked_interval", "serial", "trend")
    assert all(getattr(most, field) == getattr(least, field) for field in kept)


@given(PLANS, VALUES, LIMIT, st.booleans())
@settings(deadline=None)
def test_a_mirrored_machine_gets_the_mirrored_word(plan, values, limit, at_least):
    """Values and limit mirrored, with the bound turned, give the same step: ties favour the machine either way."""
    found = decide(values, limit, at_least=at_least, plan=plan)
    mirrored = decide([1000 - value for value in values], 1000 - limit, at_least=not at_least, plan=plan)
    assert (mirrored.step, mirrored.samples_count, mirrored.next_count) == (
        found.step,
        found.samples_count,
        found.next_count,
    )


@given(PLANS, VALUES, VALUES, LIMIT, st.booleans())
@settings(deadline=None)
def test_more_samples_never_change_what_was_decided(plan, values, more, limit, at_least):
    """A final decision is the same record whatever comes after it."""
    found = decide(values, limit, at_least=at_least, plan=plan)
    longer = decide(values + more, limit, at_least=at_least, plan=plan)
    assert found.step is Step.CONTINUE or longer == found
    assert longer.samples_count >= found.samples_count


@given(PLANS, VALUES, LIMIT)
@settings(deadline=None)
def test_the_interval_of_the_look_agrees_with_the_word(plan, values, limit):
    """The limit is below it in a pass, above it in a FAIL, inside it while undecided."""
    found = decide(values, limit, at_least=True, plan=plan)
    if found.looked_interval is None or found.reason.startswith("episodes"):
        return
    low, high = found.looked_interval.low, found.looked_interval.high
    expected = Step.PASS if limit <= low else Step.FAIL if limit > high else None
    assert found.step is (expected or found.step)
    assert (expected is None) is (found.step in (Step.CONTINUE, Step.INCONCLUSIVE))


@given(PLANS, VALUES, LIMIT, st.booleans())
@settings(deadline=None)
def test_the_margin_is_positive_where_the_median_meets(plan, values, limit, at_least):
    """A pass by 2 % reads as +2 %, in either direction."""
    found = decide(values, limit, at_least=at_least, plan=plan)
    assert (found.margin_share >= 0) is (found.median >= limit if at_least else found.median <= limit)
    assert found.next_count is None or found.next_count > found.samples_count == len(values)


def test_importing_it_loads_nothing_heavy():
    """A run that measures nothing does not wait for numpy."""
    code = "import sys, streamworthy.stats, streamworthy.stats_replay; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "False\n"
