"""How fast a prompt is read in. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.criteria.rates import judge_rate
from streamworthy.criteria.spec import Limit, bounds, required
from streamworthy.units import TOKENS_PER_SECOND

if TYPE_CHECKING:
    from streamworthy.facts.episode import Series
    from streamworthy.verdict import Verdict


@bounds(at_least=required(TOKENS_PER_SECOND))
def rate(series: Series, limit: Limit) -> Verdict:
    """Judge prompt tokens a second in the warm state."""
    return judge_rate(series, limit)
