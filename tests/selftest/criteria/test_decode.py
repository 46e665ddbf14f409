"""How fast tokens come, and whether they are right."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.criteria.decode import answer, cold_rate, warm_rate
from streamworthy.verdict import Word
from tests.selftest.criteria.asked import limit
from tests.selftest.engine.records import ANSWERS, FAILURE, make_series

_SOUND = make_series(2.0, 2.0, 2.0, 2.0, 2.0)  # 4 tok/s, under a ceiling of 40


@pytest.mark.parametrize("criterion", [cold_rate, warm_rate])
@pytest.mark.parametrize(("at_least", "word"), [(4.01, Word.FAIL), (4.0, Word.PASS), (3.99, Word.PASS)])
def test_five_episodes_that_agree_decide(criterion, at_least, word):
    """Inclusive, for both states."""
    found = criterion(_SOUND, limit(at_least=at_least))

    assert (found.word, found.value, found.samples) == (word, 4.0, (4.0,) * 5)
    assert bool(found.cause and found.fix) is (word is Word.FAIL)


@pytest.mark.parametrize(("share", "word"), [(0.101, Word.FAIL), (0.1, Word.PASS), (0.099, Word.PASS)])
def test_a_share_of_the_ceiling(share, word):
    """10 % of 40 tok/s are 4."""
    assert warm_rate(_SOUND, limit(at_least_of_ceiling=share)).word is word


@pytest.mark.parametrize(
    ("values", "word", "required"),
    [
        ({"at_least": 1.0, "at_least_of_ceiling": 0.2}, Word.FAIL, "at least 8.0 tok/s (20.0 % of the memory"),
        ({"at_least": 5.0, "at_least_of_ceiling": 0.05}, Word.FAIL, "at least 5.0 tok/s (5.0 % of the memory"),
        ({"at_least": 3.0, "at_least_of_ceiling": 0.05}, Word.PASS, "at least 3.0 tok/s (5.0 % of the memory"),
    ],
)
def test_of_two_bounds_the_higher_counts(values, word, required):
    """The verdict shows what was asked."""
    found = warm_rate(_SOUND, limit(**values))

    assert found.word is word
    assert found.required.startswith(required)


def test_a_missing_bound_is_an_error():
    """Unknown is not safe."""
    found = warm_rate(_SOUND, limit())

    assert found.word is Word.ERROR
    assert "neither at_least nor at_least_of_ceiling" in found.cause


@pytest.mark.parametrize("criterion", [cold_rate, warm_rate])
def test_an_engine_that_failed_is_an_error(criterion):
    """No token, no rate."""
    assert criterion(make_series(failure=FAILURE), limit(at_least=1.0)).word is Word.ERROR


def test_a_cold_rate_that_does_not_exist_is_not_applicable():
    """The reason and the value seen are kept."""
    found = cold_rate(replace(_SOUND, excluded="locked"), limit(at_least=1.0))

    assert (found.word, found.cause, found.measured) == (Word.NOT_APPLICABLE, "locked", "4.0 tok/s")


def test_one_answer_in_all_episodes_passes():
    """What was said is kept as evidence."""
    found = answer(ANSWERS, limit())

    assert (found.word, found.value) == (Word.PASS, 1.0)
    assert found.measured == "2 of 2 episodes gave the same answer"
    assert found.evidence == ("answer=' one two'",)


def test_a_changing_answer_fails():
    """One of two is not enough."""
    found = answer(replace(ANSWERS, tokens=((1, 2), (1, 3))), limit())

    assert (found.word, found.value) == (Word.FAIL, 0.5)
    assert found.fix


@pytest.mark.parametrize(
    ("changes", "word", "cause"),
    [
        ({"failure": FAILURE}, Word.ERROR, "engine: crashed with SIGSEGV"),
        ({"refused": "cp (pid 9)"}, Word.INCONCLUSIVE, "cp (pid 9)"),
        ({}, Word.INCONCLUSIVE, "no episode was asked"),
    ],
)
def test_without_an_answer_nothing_is_decided(changes, word, cause):
    """Error and inconclusive are told apart."""
    found = answer(replace(ANSWERS, tokens=(), **changes), limit())

    assert (found.word, found.cause) == (word, cause)
