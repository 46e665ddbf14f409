"""Judging tokens a second. Pure."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from streamworthy.criteria.disturbed import despite_load
from streamworthy.criteria.series import evidence, unsettled
from streamworthy.criteria.spec import within
from streamworthy.units import TOKENS_PER_SECOND, format_tokens_per_second

if TYPE_CHECKING:
    from streamworthy.criteria.spec import Limit
    from streamworthy.facts.episode import Series
    from streamworthy.verdict import Verdict


def rates(series: Series) -> tuple[float, ...]:
    """Give tokens a second of each sample."""
    return tuple(sample.tokens / sample.seconds for sample in series.samples)


def judge_rate(series: Series, limit: Limit, *, cause: str, fix: tuple[str, ...]) -> Verdict:
    """Judge the median rate against ``at_least``; a miss is put down to ``cause``, or to other load."""
    return despite_load(series, limit, lambda found: _judge(found, limit, cause, fix))


def _judge(series: Series, limit: Limit, cause: str, fix: tuple[str, ...]) -> Verdict:
    values = rates(series)
    return unsettled(series, format_tokens_per_second, values) or within(
        median(values),
        limit,
        TOKENS_PER_SECOND,
        samples=values,
        cause=cause,
        fix=fix,
        evidence=evidence(series, format_tokens_per_second, values),
    )
