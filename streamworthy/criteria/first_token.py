"""How long a user waits for the first token. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.criteria.episodes import Question, Told, judge_episodes
from streamworthy.criteria.spec import Limit, bounds, format_required, required
from streamworthy.units import SECONDS

if TYPE_CHECKING:
    from streamworthy.facts.episode import Series
    from streamworthy.verdict import Verdict


@bounds(at_most=required(SECONDS))
def cold(series: Series, limit: Limit) -> Verdict:
    """Judge the time from the engine's start with evicted files to its first token, load included."""
    return _judge(series, limit)


@bounds(at_most=required(SECONDS))
def warm(series: Series, limit: Limit) -> Verdict:
    """Judge the time from a prompt to its first token in the warm state."""
    return _judge(series, limit)


def seconds(series: Series) -> tuple[float, ...]:
    """Give the seconds of each sample."""
    return tuple(sample.seconds for sample in series.samples)


def question(series: Series, limit: Limit) -> Question:  # noqa: ARG001 - every gate's question may depend on both
    """Ask each episode for a token within the tier's time."""
    return Question(values=seconds, bound=limit.values["at_most"], at_least=False, kind=SECONDS)


def _judge(series: Series, limit: Limit) -> Verdict:
    return judge_episodes(series, limit, question(series, limit), Told(required=format_required(SECONDS, limit)))
