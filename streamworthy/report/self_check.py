"""The decision rule tried on a run's own samples, one line for each gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.criteria.episodes import rule
from streamworthy.criteria.statistical import QUESTIONS, asked_gates

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from streamworthy.criteria.spec import Limit
    from streamworthy.engine.pool import Pool

SEED = 1


def self_check_lines(judged: Iterable[str], pool: Pool, limits: Mapping[str, Limit]) -> Iterator[str]:
    """Replay the samples of the judged gates; gates that ask no episodes are passed over. Runs no episode itself."""
    from streamworthy.engine.metrics import METRICS
    from streamworthy.stats_replay import self_check

    metrics = {metric.gate: metric for metric in METRICS}
    for gate in (gate for gate in judged if gate in asked_gates(limits)):
        series = pool.series(metrics[gate])
        question = QUESTIONS[gate](series, limits[gate])
        if question is None or question.bound <= 0:
            continue
        found = self_check(
            question.values(series), question.bound, at_least=question.at_least, plan=rule(series), seed=SEED
        )
        yield f"self-check {gate}: {found.summary}"
