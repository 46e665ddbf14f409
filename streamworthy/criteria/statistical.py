"""The gates that judge episodes by the sequential rule: which they are, and what each asks. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.criteria import decode, first_token, load, rates
from streamworthy.criteria.episodes import missing_count

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from streamworthy.criteria.episodes import Question
    from streamworthy.criteria.spec import Limit
    from streamworthy.facts.episode import Series

QUESTIONS: dict[str, Callable[[Series, Limit], Question | None]] = {
    "load.mmap": load.question,
    "first_token.cold": first_token.question,
    "first_token.warm": first_token.question,
    "prefill.rate": rates.question,
    "decode.cold_rate": rates.question,
    "decode.warm_rate": decode.question,
}

COMPUTED = frozenset((*QUESTIONS, "bandwidth.read", "decode.efficiency", "decode.stalls"))  # the clock counts in these


def asked_gates(limits: Mapping[str, Limit]) -> tuple[str, ...]:
    """Name the gates of a tier that share the family error; each has to be told apart from chance."""
    return tuple(gate for gate in QUESTIONS if gate in limits and limits[gate].level != "not_applicable")


def more_wanted(series: Series, limits: Mapping[str, Limit]) -> int:
    """Give how many more episodes the gate of a series needs to come to its next look; 0 once it is decided."""
    gate = series.metric
    return missing_count(series, QUESTIONS[gate](series, limits[gate]) if gate in asked_gates(limits) else None)
