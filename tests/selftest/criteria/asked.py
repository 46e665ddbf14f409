"""Limits for tests of criteria."""

from __future__ import annotations

from streamworthy.criteria.spec import Limit


def limit(gate="", /, **values):
    """Make a required limit of these bounds, in canonical units."""
    return Limit(
        gate=gate,
        level="require",
        unknown="error",
        values=values,
        reason="a test",
        basis="",
        see=f"test.toml [{gate}]",
    )
