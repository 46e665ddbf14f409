"""Limits for tests of criteria."""

from __future__ import annotations

from streamworthy.criteria.spec import Limit


def limit(**values):
    """Make a limit of these bounds, in canonical units."""
    return Limit(gate="", level="require", unknown="error", values=values, reason="", basis="", see="")
