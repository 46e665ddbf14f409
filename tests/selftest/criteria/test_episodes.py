"""Episodes against a limit, look by look."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.criteria import decode, first_token, prefill
from streamworthy.criteria.statistical import QUESTIONS, asked_gates, more_wanted
from streamworthy.engine.metrics import METRICS
from streamworthy.verdict import Word
from tests.selftest.criteria.asked import limit
from tests.selftest.engine.records import ANSWERS, FAILURE, make_series

LIMIT = limit("first_token.warm", at_most=2.0)
GOOD, BAD = 1.9, 2.1
LATE = "4 more prompt episodes need about 30.0 s, more than the depth quick has left"


def judge(*seconds, limit=LIMIT, **changes):
    """Judge episodes of these seconds against 2 s."""
    return first_token.warm(make_series(*seconds, **changes), limit)


@pytest.mark.parametrize(
    ("seconds", "word", "told"),
    [
        ([GOOD] * 5, Word.PASS, "5 of 5 episodes meet the limit"),
        ([BAD] * 5, Word.FAIL, "5 of 5 episodes miss the limit"),
        ([BAD] + [GOOD] * 8, Word.PASS, "8 of 9 episodes meet the limit"),
        ([GOOD] + [BAD] * 8, Word.FAIL, "8 of 9 episodes miss the limit"),
        ([BAD, GOOD] * 2 + [GOOD] * 11, Word.PASS, "13 of 15 episodes meet the limit"),
        ([GOOD, BAD] * 2 + [BAD] * 11, Word.FAIL, "13 of 15 episodes miss the limit"),
    ],
)
def test_each_look_of_quick_decides(seconds, word, told):
    """The word with its count as evidence; the value is the median, the samples are all that it rests on."""
    found = judge(*seconds)

    assert (found.word, found.value, found.samples) == (word, GOOD if word is Word.PASS else BAD, tuple(seconds))
    assert found.evidence[0] == f"decision={told}"
    assert [line.partition("=")[0] for line in found.evidence[1:5]] == [
        "margin",
        "median_interval",
        "serial_correlation",
        "drift",
    ]


def test_a_count_between_two_looks_is_open():
    """4 of 5 tell little; what was measured is shown with what to do."""
    found = judge(BAD, *[GOOD] * 4)

    assert (found.word, found.value, found.measured) == (Word.INCONCLUSIVE, GOOD, "1.9 s (of 5 samples)")
    assert found.cause == "4 of 5 episodes meet the limit; the next look is at 9"
    assert found.fix == ("pytest -m qualify --depth full",)
    assert found.required == "at most 2.0 s"


def test_a_budget_that_ends_before_the_next_look_says_so():
    """The open count first, then what is missing."""
    found = judge(BAD, *[GOOD] * 4, refused=LATE, refused_fix=("deeper",))

    assert (found.word, found.fix) == (Word.INCONCLUSIVE, ("deeper",))
    assert found.cause == f"4 of 5 episodes meet the limit; the next look is at 9; {LATE}"


@pytest.mark.parametrize(("seconds", "word"), [(GOOD, Word.PASS), (BAD, Word.FAIL)])
def test_what_follows_a_decision_changes_nothing(seconds, word):
    """Another gate wanted more: neither its episodes nor its refusal touch a word that stands."""
    found = judge(*[seconds] * 5, *[GOOD, BAD] * 2, refused=LATE)

    assert (found.word, found.value, found.samples) == (word, seconds, (seconds,) * 5)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"excluded": "locked"}, Word.NOT_APPLICABLE),
        ({"failure": FAILURE}, Word.ERROR),
        ({"answers": replace(ANSWERS, tokens=((1, 2), (1, 3)))}, Word.INCONCLUSIVE),
    ],
)
def test_obstacles_come_before_the_count(changes, word):
    """A clear count saves no engine that crashed or changes its answer."""
    assert judge(*[BAD] * 5, **changes).word is word


@pytest.mark.parametrize(
    ("depth", "fix"),
    [("quick", "pytest -m qualify --depth full"), ("standard", "run again on a quiet machine")],
)
@pytest.mark.parametrize(("level", "word"), [("require", Word.INCONCLUSIVE), ("advise", Word.ADVICE)])
def test_too_close_to_tell_is_open_and_advice_where_only_advised(depth, fix, level, word):
    """After the last look; a limit that cannot fail a run cannot leave it undecided either."""
    found = judge(*[GOOD, BAD, BAD, GOOD] * 8, depth=depth, limit=replace(LIMIT, level=level))

    assert found.word is word
    assert "the median is too close to it" in found.cause
    assert found.fix[0].startswith(fix)


def test_a_drift_across_the_limit_takes_the_word_back():
    """Nine of nine meet it, each slower than the one before: the next ones will not."""
    values = [1.3 + step / 15 for step in range(9)]

    rising, mixed = (judge(*seconds, depth="standard") for seconds in (values, values[::2] + values[1::2]))
    assert (rising.word, "episodes drift" in rising.cause) == (Word.INCONCLUSIVE, True)
    assert mixed.word is Word.PASS


@pytest.mark.parametrize(
    ("values", "word", "fix"),
    [
        ([1.19, 1.25, 1.31, 1.38, 1.46], Word.INCONCLUSIVE, "sensors"),  # 6.71 to 5.47 tok/s in five runs
        ([1.19, 1.31, 1.25, 1.38, 1.46], Word.PASS, ""),  # one pair out of order may be chance
        ([1.19, 1.2, 1.21, 1.22, 1.23], Word.PASS, ""),  # it stays within the limit
        ([9.9, 8.0, 5.5, 3.9, 2.6], Word.INCONCLUSIVE, "run again at once"),  # the cache fills
    ],
)
def test_five_that_go_one_way_across_the_limit_are_open(values, word, fix):
    """Heat and filling caches need different remedies; both are seen in the fewest episodes that decide."""
    found = judge(*values)
    assert found.word is word
    assert "".join(found.fix).startswith(fix)


@pytest.mark.parametrize("gates_count", [1, 6])
def test_deeper_runs_share_the_error_over_their_gates(gates_count):
    """Seven agreeing episodes decide one gate; six gates need nine."""
    found = judge(*[GOOD] * 7, depth="standard", gates_count=gates_count, wanted_count=7)

    assert found.word is (Word.PASS if gates_count == 1 else Word.INCONCLUSIVE)


@pytest.mark.parametrize(
    "judged",
    [
        lambda series: first_token.warm(series, limit("x.y", at_most=0.0)),
        lambda series: prefill.rate(series, limit("x.y", at_least=0.0)),
        lambda series: decode.warm_rate(series, limit("x.y", at_least=0.0)),
    ],
)
def test_a_limit_of_nothing_is_an_error(judged):
    """It would be met or missed by everything."""
    found = judged(make_series(*[GOOD] * 5))

    assert (found.word, "expected one above 0" in found.cause) == (Word.ERROR, True)


@pytest.mark.parametrize(
    ("seconds", "more"),
    [
        ([], 5),
        ([GOOD] * 3, 2),
        ([GOOD] * 5, 0),
        ([BAD] * 5, 0),
        ([BAD] + [GOOD] * 4, 4),
        ([BAD] + [GOOD] * 6, 2),
        ([BAD] * 2 + [GOOD] * 7, 6),
        ([BAD, GOOD] * 3, 0),
    ],
)
def test_as_many_more_are_wanted_as_the_next_look_needs(seconds, more):
    """None once a gate is decided or no look can decide it any more."""
    assert more_wanted(make_series(*seconds, metric="first_token.warm"), {"first_token.warm": LIMIT}) == more


def test_a_gate_that_is_not_asked_wants_the_first_look():
    """Efficiency and stalls judge the same episodes."""
    for limits in ({}, {"first_token.warm": replace(LIMIT, level="not_applicable")}):
        assert asked_gates(limits) == ()
        assert more_wanted(make_series(BAD, GOOD, metric="first_token.warm"), limits) == 3
        assert more_wanted(make_series(BAD, *[GOOD] * 4, metric="first_token.warm"), limits) == 0


def test_every_metric_of_the_engine_has_its_question():
    """Gates that draw on episodes are the ones that are told apart from chance."""
    assert set(QUESTIONS) == {metric.gate for metric in METRICS}
