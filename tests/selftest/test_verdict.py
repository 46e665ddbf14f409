"""The words of a run, and what they add up to."""

from __future__ import annotations

import itertools

import pytest

from streamworthy.verdict import EXIT_CODES, Closing, Word, close, soften, unknown, verdict

PASS, FAIL, ADVICE = Word.PASS, Word.FAIL, Word.ADVICE
OPEN, ERROR, WAIVED, NA = Word.INCONCLUSIVE, Word.ERROR, Word.WAIVED, Word.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("words", "complete", "closing"),
    [
        ([PASS, ADVICE, WAIVED, NA], True, Closing.QUALIFIED),
        ([PASS, ADVICE, WAIVED, NA], False, Closing.PARTIAL),
        ([PASS, FAIL, ERROR, OPEN], True, Closing.NOT_QUALIFIED),
        ([PASS, FAIL], False, Closing.NOT_QUALIFIED),
        ([PASS, OPEN], True, Closing.UNDECIDED),
        ([PASS, ERROR], False, Closing.UNDECIDED),
        ([NA, NA], True, Closing.UNDECIDED),
        ([], True, Closing.UNDECIDED),
    ],
)
def test_closing_word(words, complete, closing):
    """A run closes with the word of the design's table, whatever the order of its gates."""
    for order in itertools.permutations(words):
        assert close(order, complete=complete) is closing


def test_exit_codes_tell_the_closing_words_apart_for_scripts():
    """Only a run without FAIL and without anything undecided exits 0."""
    assert {word.name: code for word, code in EXIT_CODES.items()} == {
        "QUALIFIED": 0,
        "NOT_QUALIFIED": 1,
        "UNDECIDED": 10,
        "PARTIAL": 0,
    }


@pytest.mark.parametrize(
    ("word", "level", "allowed", "becomes"),
    [
        (FAIL, "require", "error", FAIL),
        (FAIL, "advise", "error", ADVICE),
        (ERROR, "advise", "error", ERROR),
        (ERROR, "require", "advise", ADVICE),
        (OPEN, "advise", "advise", OPEN),
        (PASS, "advise", "advise", PASS),
    ],
)
def test_a_tier_softens_only_what_it_says(word, level, allowed, becomes):
    """FAIL becomes advice by level, an unknown by `unknown`; a noisy measurement stays open."""
    assert soften(verdict(word, measured="1"), level=level, unknown=allowed).word is becomes


def test_an_unknown_keeps_its_reason_and_fix():
    """What could not be learned says why, and what to do line by line."""
    found = unknown("/proc/meminfo: cannot be read", "mount /proc\nrun again")
    assert (found.word, found.cause, found.fix) == (
        ERROR,
        "/proc/meminfo: cannot be read",
        ("mount /proc", "run again"),
    )
