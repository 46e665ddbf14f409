"""What is asked of samples before their speed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.criteria.series import unsettled
from streamworthy.units import format_seconds
from streamworthy.verdict import Word
from tests.selftest.engine.records import FAILURE, make_series

_CHANGING = (
    "no speed counts without a sound answer: the answer to one prompt changes: episode 2 says [1, 3], episode 1 [1, 2]"
)
_FIVE = (1.0, 2.0, 3.0, 4.0, 5.0)


def judge(series):
    """Give the open verdict, or None."""
    return unsettled(series, format_seconds, tuple(sample.seconds for sample in series.samples))


def test_five_sound_samples_are_judged():
    """Nothing stands in the way."""
    assert judge(make_series(*_FIVE)) is None
    assert judge(make_series(*_FIVE, 6.0)) is None


def test_four_samples_decide_nothing():
    """The raw samples are kept."""
    found = judge(make_series(*_FIVE[:4]))

    assert (found.word, found.samples, found.cause) == (Word.INCONCLUSIVE, _FIVE[:4], "4 samples, 5 wanted")
    assert found.measured == "2.5 s (of 4 samples)"


@pytest.mark.parametrize(
    ("changes", "word", "cause"),
    [
        ({"excluded": "locked"}, Word.NOT_APPLICABLE, "locked"),
        ({"failure": FAILURE}, Word.ERROR, "engine: crashed with SIGSEGV"),
        ({"refused": "cp (pid 9) reads"}, Word.INCONCLUSIVE, "cp (pid 9) reads"),
        (
            {"answers": replace(make_series().answers, tokens=((1, 2), (1, 3)))},
            Word.INCONCLUSIVE,
            _CHANGING,
        ),
    ],
)
def test_each_obstacle_has_its_word(changes, word, cause):
    """Not applicable, error and inconclusive are three different things."""
    found = judge(make_series(*_FIVE[:4], **changes))

    assert (found.word, found.cause) == (word, cause)


def test_what_came_in_after_the_samples_does_not_spoil_them():
    """Another gate wanted more episodes; these were taken in peace."""
    assert judge(make_series(*_FIVE, refused="cp (pid 9) reads")) is None


def test_a_failure_keeps_the_log_and_what_to_do():
    """The evidence is the log's end."""
    found = judge(make_series(failure=FAILURE))

    assert found.fix == ("check the hashes",)
    assert found.evidence == ("log=line a", "log=line b")


def test_nothing_measured_is_said():
    """No number is invented."""
    assert judge(make_series(refused="budget")).measured == "nothing measured"
