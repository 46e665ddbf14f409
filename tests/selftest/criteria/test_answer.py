"""Whether an answer is that of a working model."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.criteria.answer import answer_fault
from tests.selftest.engine.records import ANSWERS


def test_equal_answers_are_sound():
    """So is none at all: other gates say that nothing ran."""
    assert answer_fault(ANSWERS) == ""
    assert answer_fault(replace(ANSWERS, tokens=())) == ""


def test_a_changing_answer_is_named_by_its_episode():
    """The first that differs is told."""
    fault = answer_fault(replace(ANSWERS, tokens=((1, 2), (1, 2), (1, 3))))

    assert fault == "the answer to one prompt changes: episode 3 says [1, 3], episode 1 [1, 2]"


@pytest.mark.parametrize(
    ("tokens", "sound"),
    [
        ((5, 5, 5, 5, 5, 5, 5, 5), False),
        ((5, 6, 5, 6, 5, 6, 5, 6), True),
        ((5,) * 10 + (6, 7), True),
        ((5,) * 11 + (6, 7), False),
    ],
)
def test_a_degenerate_answer_has_few_distinct_tokens(tokens, sound):
    """A quarter of the tokens at least have to differ."""
    assert (answer_fault(replace(ANSWERS, tokens=(tokens, tokens))) == "") is sound


def test_the_sample_is_held_to_its_reference():
    """A stored answer decides, even one that repeats."""
    repeated = replace(ANSWERS, tokens=((7, 7, 7, 7, 7),), reference=(7, 7, 7, 7, 7))

    assert answer_fault(repeated) == ""
    assert answer_fault(replace(repeated, reference=(7, 7, 7, 7, 8))) == (
        "the sample model answers [7, 7, 7, 7, 7], its stored reference is [7, 7, 7, 7, 8]"
    )
