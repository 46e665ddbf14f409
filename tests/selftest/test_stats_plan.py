"""The looks and their exact error: the published numbers, a count by hand, and what each bound does."""

from __future__ import annotations

from itertools import product
from math import log, sqrt
from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamworthy.stats_plan import Look, Step, plan_at, plan_for, plan_of, tail_share

SINGLE = ((7, 7), (9, 8), (12, 10), (15, 12), (20, 15), (25, 19), (30, 22))
SIX = ((9, 9), (12, 11), (15, 13), (20, 17), (25, 20), (30, 23))
TWELVE = ((9, 9), (12, 12), (15, 14), (20, 17), (25, 21), (30, 24))
QUICK = ((5, 5), (9, 8), (15, 13))
PLANS = [plan_for("quick", 9), plan_for("standard", 1), plan_for("standard", 5), plan_for("full", 12)]


def pairs(plan):
    """Write a plan as (episodes, critical count)."""
    return tuple((look.count, look.critical_count) for look in plan.looks)


@pytest.mark.parametrize(
    ("looks", "percent"),
    [
        (SINGLE, "4.73"),
        (SIX, "0.87"),
        (TWELVE, "0.36"),
        (QUICK, "4.19"),
        (((5, 5),), "3.12"),
        (((5, 5), (8, 7)), "5.08"),
    ],
)
def test_published_rules_have_the_published_error(looks, percent):
    """The error is computed from the looks alone, and agrees with the published table."""
    assert f"{plan_of('standard', 1, looks).error_share * 100:.2f}" == percent


@pytest.mark.parametrize(("look_error_share", "looks"), [(0.0213, SINGLE), (0.0059, SIX), (0.0020, TWELVE)])
def test_published_chances_give_the_published_counts(look_error_share, looks):
    """The chance per look gives the table's critical counts, without looks that decide nothing new."""
    assert pairs(plan_at("standard", 1, look_error_share)) == tuple(pair for pair in looks if pair != (12, 12))


def test_error_agrees_with_a_count_of_all_series():
    """Of all 32,768 series of 15 coin tosses, 4.19 % reach a quick count of misses before one of meetings."""

    def word(tosses):
        for count, critical in QUICK:
            met = sum(tosses[:count])
            if max(met, count - met) >= critical:
                return met >= critical
        return None

    words = [word(tosses) for tosses in product((False, True), repeat=15)]
    assert words.count(False) / len(words) == plan_for("quick", 1).error_share
    assert words.count(True) == words.count(False)


def test_fewer_than_five_episodes_never_decide():
    """Four of four happen to a fair coin in more than 5 %; five of five do not."""
    assert tail_share(4, 4) > 0.05 >= tail_share(5, 5)


@pytest.mark.parametrize("gates", [1, 2, 3, 5, 9, 12, 13, 20, 100, 1000])
def test_standard_keeps_the_family_error_and_gives_none_away(gates):
    """Gates times error stay within 5 %, and every rule that decides more readily exceeds it."""
    plan = plan_for("standard", gates)
    assert plan.error_share * gates <= 0.05
    chances = {tail_share(count, heads) for count in (7, 9, 12, 15, 20, 25, 30) for heads in range(count // 2 + 1, 31)}
    others = {plan_at("standard", gates, chance) for chance in chances if chance < 0.1}
    assert {other.looks for other in others if plan.error_share < other.error_share <= 0.05 / gates} == set()


def test_one_and_twelve_gates_have_the_published_rules():
    """The rule is found, not copied, and is the published one for one gate, for five and for twelve."""
    assert pairs(plan_for("standard", 1)) == SINGLE
    assert pairs(plan_for("full", 5)) == SIX
    assert pairs(plan_for("full", 12)) == tuple(pair for pair in TWELVE if pair != (12, 12))


def test_full_decides_as_standard():
    """Depth changes what is measured; only quick changes the looks."""
    assert plan_for("full", 7).looks == plan_for("standard", 7).looks


def test_quick_states_its_family_error():
    """Quick spends up to 5 % on each gate, and says what that makes of all of them."""
    plan = plan_for("quick", 9)
    assert pairs(plan) == QUICK
    assert plan.family_error_share == 9 * plan.error_share
    assert plan.independent_family_error_share == pytest.approx(1 - (1 - plan.error_share) ** 9)
    assert plan.summary == (
        "decided by 5/5, 8/9, 13/15 episodes; chance of a false FAIL, and of a false pass: at most 4.19 % per gate, "
        "37.7 % over all (9)"
    )
    assert plan_for("quick", 100).family_error_share == 1.0


@pytest.mark.parametrize(
    ("depth", "gates", "message"),
    [
        ("deep", 1, "depth: found 'deep', expected quick, standard or full"),
        ("standard", 0, "gates: found 0, expected at least 1"),
        ("standard", 10**9, "gates: found 1000000000, more than 30 episodes can tell apart"),
    ],
)
def test_what_cannot_be_planned_is_said(depth, gates, message):
    """A depth that does not exist and a number of gates that no rule serves are refused in one line."""
    with pytest.raises(ValueError, match="found") as caught:
        plan_for(depth, gates)
    assert str(caught.value) == message


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.depth)
def test_counts_are_a_majority_and_rise(plan):
    """A pass and a FAIL exclude each other at every look, and no count fits an earlier look."""
    assert all(2 * look.critical_count > look.count for look in plan.looks)
    assert list(plan.looks) == sorted(plan.looks, key=lambda look: (look.count, look.critical_count))
    assert len({look.count for look in plan.looks}) == len(plan.looks)


def test_needed_names_the_next_look():
    """Below, at and above each look; after the last there is none."""
    plan = plan_for("quick", 1)
    assert [plan.needed(count) for count in (0, 4, 5, 8, 9, 14, 15, 16)] == [5, 5, 9, 9, 15, 15, None, None]
    assert [plan.critical_count(count) for count in (4, 5, 9, 15, 16)] == [None, 5, 8, 13, None]
    assert plan.looks[0] == Look(count=5, critical_count=5)


@pytest.mark.parametrize(
    ("count", "met", "step"),
    [
        (4, 4, Step.CONTINUE),
        (5, 5, Step.PASS),
        (5, 4, Step.CONTINUE),
        (5, 0, Step.FAIL),
        (9, 8, Step.PASS),
        (9, 7, Step.CONTINUE),
        (9, 6, Step.INCONCLUSIVE),  # 12 of 15 at most
        (9, 1, Step.FAIL),
        (15, 13, Step.PASS),
        (15, 12, Step.INCONCLUSIVE),
        (15, 2, Step.FAIL),
    ],
)
def test_each_count_has_its_step(count, met, step):
    """At, below and above each critical count, in both directions, and where nothing can be reached any more."""
    assert plan_for("quick", 1).step(count, met) is step


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.depth)
def test_stopping_in_vain_costs_no_error(plan):
    """Inconclusive before the last look is said only where every continuation ends without a word."""
    for count, met in product(range(1, 31), range(31)):
        if met <= count < plan.looks[-1].count and plan.step(count, met) is Step.INCONCLUSIVE:
            assert Step.INCONCLUSIVE in (plan.step(count + 1, met), plan.step(count + 1, met + 1))
            assert not {Step.PASS, Step.FAIL} & {plan.step(count + 1, met), plan.step(count + 1, met + 1)}


@given(st.sampled_from(PLANS), st.lists(st.booleans(), max_size=40), st.lists(st.booleans(), max_size=10))
@settings(deadline=None)
def test_more_episodes_never_change_a_final_step(plan, meeting, more):
    """What was decided stays decided, on the same episodes."""
    step, count = plan.walk(meeting)
    assert step is Step.CONTINUE or plan.walk([*meeting, *more]) == (step, count)


@given(st.sampled_from(PLANS), st.lists(st.booleans(), min_size=30, max_size=30), st.sets(st.integers(0, 29)))
@settings(deadline=None)
def test_better_episodes_never_undo_a_pass(plan, meeting, raised):
    """A series in which more episodes meet the limit passes where the lesser one did."""
    better = [meets or place in raised for place, meets in enumerate(meeting)]
    assert plan.walk(meeting)[0] is not Step.PASS or plan.walk(better)[0] is Step.PASS
    assert plan.walk(better)[0] is not Step.FAIL or plan.walk(meeting)[0] is Step.FAIL


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.depth)
def test_error_is_largest_at_the_limit(plan):
    """A machine better than the limit is failed less often, a worse one passed less often; chances add up."""
    odds = [plan.odds(percent / 100) for percent in range(0, 101, 5)]
    assert all(sum((o.pass_share, o.fail_share, o.inconclusive_share)) == pytest.approx(1) for o in odds)
    assert [o.fail_share for o in odds] == sorted((o.fail_share for o in odds), reverse=True)
    assert [o.pass_share for o in odds] == sorted(o.pass_share for o in odds)
    assert odds[10].pass_share == pytest.approx(odds[10].fail_share) == pytest.approx(plan.error_share)


@pytest.mark.parametrize(
    ("variation", "margin", "passes", "mean_count"),
    [
        (0.03, 0.03, 0.97, 12),
        (0.03, 0.05, 1.00, 8),
        (0.10, 0.05, 0.52, 22),
        (0.10, 0.10, 0.97, 12.5),
        (0.20, 0.10, 0.51, 22),
        (0.20, 0.20, 0.95, 14),
    ],
)
def test_margins_pass_as_published(variation, margin, passes, mean_count):
    """For log-normal episodes of a given variation, a given margin passes as often as was simulated, or sooner."""
    meeting_share = NormalDist().cdf(log(1 + margin) / sqrt(log(1 + variation**2)))
    odds = plan_for("standard", 1).odds(meeting_share)
    assert odds.pass_share == pytest.approx(passes, abs=0.015)
    assert odds.fail_share < 0.002
    assert odds.mean_count < mean_count + 0.5
