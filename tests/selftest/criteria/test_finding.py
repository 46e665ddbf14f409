"""Several findings, one verdict."""

from __future__ import annotations

import itertools

import pytest

from streamworthy.criteria.finding import Finding, worst
from streamworthy.verdict import Word, not_applicable, verdict

ORDER = (Word.FAIL, Word.ERROR, Word.ADVICE, Word.PASS, Word.NOT_APPLICABLE)


def finding(word, name="a"):
    """Give a finding whose texts name it."""
    return Finding(word=word, measured=name, cause=f"because {name}", fix=(f"mend {name}", "look"))


@pytest.mark.parametrize(("one", "two"), [*itertools.combinations(ORDER, 2)])
def test_the_worse_word_decides_whatever_the_order(one, two):
    """A known miss is worse than an unknown, which is worse than advice."""
    for pair in ((one, two), (two, one)):
        assert worst([finding(word) for word in pair], required="x").word is one


def test_all_are_measured_and_only_the_deciding_ones_are_explained():
    """Equal lines stand once."""
    found = worst(
        [finding(Word.PASS, "a"), finding(Word.FAIL, "b"), finding(Word.FAIL, "c"), finding(Word.FAIL, "b")],
        required="x",
    )
    assert found == verdict(
        Word.FAIL, measured="a; b; c", required="x", cause="because b; because c", fix=("mend b", "look", "mend c")
    )


def test_nothing_to_judge_does_not_apply():
    """No volume is no pass."""
    assert worst([], required="x") == not_applicable("no volume holds the model")
