"""How long a user waits for the first token. Pure."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from streamworthy.criteria.disturbed import despite_load
from streamworthy.criteria.series import evidence, unsettled
from streamworthy.criteria.spec import Limit, bounds, required, within
from streamworthy.units import SECONDS, format_seconds

if TYPE_CHECKING:
    from streamworthy.facts.episode import Series
    from streamworthy.verdict import Verdict


@bounds(at_most=required(SECONDS))
def cold(series: Series, limit: Limit) -> Verdict:
    """Judge the time from the engine's start with evicted files to its first token, load included."""
    return _judge(series, limit, "the disk cannot deliver the model in this time: the load reads all of it")


@bounds(at_most=required(SECONDS))
def warm(series: Series, limit: Limit) -> Verdict:
    """Judge the time from a prompt to its first token in the warm state."""
    return _judge(series, limit, "the prompt is processed too slowly: compute, or reading when weights exceed memory")


def _judge(series: Series, limit: Limit, cause: str) -> Verdict:
    return despite_load(series, limit, lambda found: _judge_wait(found, limit, cause))


def _judge_wait(series: Series, limit: Limit, cause: str) -> Verdict:
    values = tuple(sample.seconds for sample in series.samples)
    return unsettled(series, format_seconds, values) or within(
        median(values),
        limit,
        SECONDS,
        samples=values,
        cause=cause,
        fix=("raise ubatch_tokens in the tier's [engine] table: a prompt reads the weights once for each ubatch",),
        evidence=evidence(series, format_seconds, values),
    )
