"""Questions about reading a prompt in."""

from __future__ import annotations

from streamworthy.criteria import prefill


def test_rate(require, performance, record, limit):
    """A long prompt touches nearly every expert, so its rate tells how long documents take."""
    require(prefill.rate(record(performance.prefill), limit))
