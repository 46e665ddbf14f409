"""The wait for the first token."""

from __future__ import annotations

import pytest

from streamworthy.criteria.first_token import cold, warm
from streamworthy.verdict import Word
from tests.selftest.criteria.asked import limit
from tests.selftest.engine.records import FAILURE, make_series

_SOUND = make_series(2.0, 2.0, 2.0, 2.0, 2.0)


@pytest.mark.parametrize("criterion", [cold, warm])
@pytest.mark.parametrize(("at_most", "word"), [(1.99, Word.FAIL), (2.0, Word.PASS), (2.01, Word.PASS)])
def test_five_episodes_that_agree_decide(criterion, at_most, word):
    """Inclusive; a miss has a cause and something to do."""
    found = criterion(_SOUND, limit("first_token.x", at_most=at_most))

    assert (found.word, found.value, found.unit, found.samples) == (word, 2.0, "seconds", (2.0,) * 5)
    assert bool(found.cause and found.fix) is (word is Word.FAIL)


@pytest.mark.parametrize("criterion", [cold, warm])
def test_an_engine_that_failed_is_an_error(criterion):
    """No token, no time."""
    assert criterion(make_series(failure=FAILURE), limit("first_token.x", at_most=1.0)).word is Word.ERROR
