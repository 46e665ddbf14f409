"""How fast a prompt is read in."""

from __future__ import annotations

import pytest

from streamworthy.criteria.prefill import rate
from streamworthy.verdict import Word
from tests.selftest.criteria.asked import limit
from tests.selftest.engine.records import FAILURE, make_series


@pytest.mark.parametrize(("at_least", "word"), [(4.01, Word.FAIL), (4.0, Word.PASS), (3.99, Word.PASS)])
def test_five_episodes_that_agree_decide(at_least, word):
    """8 tokens in 2 s are 4 a second."""
    found = rate(make_series(2.0, 2.0, 2.0, 2.0, 2.0), limit("prefill.rate", at_least=at_least))

    assert (found.word, found.value, found.unit) == (word, 4.0, "tokens_per_second")
    assert bool(found.cause and found.fix) is (word is Word.FAIL)


def test_an_engine_that_failed_is_an_error():
    """No prompt, no rate."""
    assert rate(make_series(failure=FAILURE), limit("prefill.rate", at_least=1.0)).word is Word.ERROR
