"""When reading has become steady."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.engine.runner import Engine
from streamworthy.engine.warm import WarmSource, is_steady
from tests.selftest.engine.real_model import copy_real_model
from tests.selftest.engine.run_pool import PLAN, make_task


@pytest.mark.parametrize(
    ("windows", "steady"),
    [
        ([], False),
        ([100.0, 100.0], False),
        ([100.0, 100.0, 100.0], True),
        ([100.0, 120.0, 140.0], True),  # 1.3 x 100 + 1 % of 1000
        ([100.0, 120.0, 140.1], False),
        ([900.0, 100.0, 100.0, 100.0], True),
        ([100.0, 100.0, 100.0, 200.0], False),
        ([0.0, 0.0, 10.0], True),
        ([0.0, 0.0, 10.1], False),
    ],
)
def test_three_windows_of_different_text_read_alike(windows, steady):
    """The largest is at most 1.3 times the smallest, give or take 1 % of a token's bytes."""
    assert is_steady(windows, 1000) is steady


def test_the_answer_is_asked_before_the_episodes_and_told_once(tmp_path):
    """An episode that asked too would seem as long as the answer, and all of them longer than a depth gives."""
    (tmp_path / "scratch").mkdir()
    task = make_task([copy_real_model(tmp_path)], plan=replace(PLAN, decode_tokens=2), available_bytes=1)
    source = WarmSource(task, lambda: Engine(tmp_path / "scratch"), print)
    with source.session:
        assert source.state == "warm, steady"
        source.settle("decode")
        source.session.answer = None  # an episode that asks ends in an error
        first, second = source.run("decode", 0, None), source.run("decode", 1, None)
    assert first.answer_text.startswith(" Paris")
    assert second.answer == ()
