"""Questions about generating tokens."""

from __future__ import annotations

from streamworthy.criteria import decode


def test_cold_rate(require, performance, record, limit):
    """With an empty cache every expert comes from the disk: the slowest that a user will see."""
    require(decode.cold_rate(record(performance.decode_cold), limit))


def test_warm_rate(require, performance, record, limit):
    """Users live with the speed that is reached once the most wanted experts are in memory."""
    require(decode.warm_rate(record(performance.decode_warm), limit))


def test_efficiency(require, performance, record, roofs, limit):
    """A rate far below what disk and memory allow is a setting; one above it means that the cache was not as said."""
    require(decode.efficiency(record(performance.decode_warm), roofs, limit))


def test_stalls(require, performance, record, limit):
    """Readers feel the slowest tokens: a mean hides one that waits for the disk ten times as long."""
    require(decode.stalls(record(performance.decode_warm), limit))


def test_answer(require, performance, limit):
    """A fast engine that gives wrong or changing answers is broken, and its speed means nothing."""
    require(decode.answer(performance.answers, limit))
