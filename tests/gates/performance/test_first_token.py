"""Questions about the wait for the first token."""

from __future__ import annotations

from streamworthy.criteria import first_token


def test_cold(require, performance, record, limit):
    """After a restart nothing is in memory: this is the wait of the first user, load included."""
    require(first_token.cold(record(performance.first_token_cold), limit))


def test_warm(require, performance, record, limit):
    """Every prompt waits this long before the first word appears."""
    require(first_token.warm(record(performance.first_token_warm), limit))
