"""Judging tokens a second. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.criteria.episodes import Question, Told, judge_episodes
from streamworthy.criteria.spec import format_required
from streamworthy.units import TOKENS_PER_SECOND

if TYPE_CHECKING:
    from streamworthy.criteria.spec import Limit
    from streamworthy.facts.episode import Series
    from streamworthy.verdict import Verdict


def rates(series: Series) -> tuple[float, ...]:
    """Give tokens a second of each sample."""
    return tuple(sample.tokens / sample.seconds for sample in series.samples)


def at_least(floor: float) -> Question:
    """Ask each episode for a rate."""
    return Question(values=rates, bound=floor, at_least=True, kind=TOKENS_PER_SECOND)


def question(series: Series, limit: Limit) -> Question:  # noqa: ARG001 - every gate's question may depend on both
    """Ask each episode for the tier's rate."""
    return at_least(limit.values["at_least"])


def judge_rate(series: Series, limit: Limit) -> Verdict:
    """Judge each episode's rate against ``at_least``."""
    told = Told(required=format_required(TOKENS_PER_SECOND, limit))
    return judge_episodes(series, limit, question(series, limit), told)
