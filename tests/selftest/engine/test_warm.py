"""When reading has become steady."""

from __future__ import annotations

import pytest

from streamworthy.engine.warm import is_steady


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
