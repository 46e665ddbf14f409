"""Judging episodes one by one against a limit, with a known chance of a false word. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

from streamworthy.criteria.disturbed import despite_load, name_cause
from streamworthy.criteria.evidence import evidence
from streamworthy.criteria.series import open_verdict, unsettled
from streamworthy.stats import decide
from streamworthy.stats_plan import Step, plan_for
from streamworthy.verdict import Verdict, Word, unknown, verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamworthy.criteria.spec import Limit
    from streamworthy.facts.episode import Series
    from streamworthy.stats import Decision
    from streamworthy.stats_plan import SequentialPlan
    from streamworthy.units import Kind

_DEEPER = ("pytest -m qualify --depth full",)
_SLOWING = (
    "sensors; sudo nvme smart-log /dev/nvme0n1   # each episode is slower than the one before: heat?",
    "free -h; ps aux --sort=-rss | head   # or somebody who takes more and more memory",
)
_SPEEDING = ("run again at once: each episode is faster than the one before, as while caches fill and clocks rise",)
_AGAIN = ("run again on a quiet machine that has reached its working temperature",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a gate asks of each episode: ``values`` takes a series' numbers, one a sample, in the unit of ``bound``."""

    values: Callable[[Series], tuple[float, ...]]
    bound: float
    at_least: bool
    kind: Kind

    def missed_by(self, value: float) -> bool:
        """Tell whether a value misses the bound; one that is equal meets it."""
        return value < self.bound if self.at_least else value > self.bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """How a gate speaks of its number."""

    required: str
    measured: Callable[[float], str] | None = None  # None: as the kind writes it


def rule(series: Series) -> SequentialPlan:
    """Give the decision rule of the run that a series belongs to."""
    return plan_for(series.depth, series.gates_count)


def decision(series: Series, question: Question) -> Decision:
    """Decide about the samples so far, of which there is at least one."""
    return decide(question.values(series), question.bound, at_least=question.at_least, plan=rule(series))


def judge_episodes(series: Series, limit: Limit, question: Question, told: Told) -> Verdict:
    """Judge a series by the run's rule; the value is the median of the episodes that the word rests on.

    What was refused or came too late for the budget counts only where the word is still open: what follows a final
    step changes nothing.
    """
    if question.bound <= 0:
        found = question.kind.format(question.bound)
        return unknown(f"{limit.gate}: found the limit {found}, expected one above 0", f"change it: {limit.see}")
    unsettled_verdict = unsettled(series, question.kind.format, question.values(series))
    if unsettled_verdict:
        return name_cause(series, unsettled_verdict)
    used = replace(series, samples=series.samples[: decision(series, question).samples_count])
    return despite_load(
        used,
        limit,
        lambda taken: _judge(taken, limit, question, told),
        misses=lambda taken: question.missed_by(median(question.values(taken))),
    )


def _judge(series: Series, limit: Limit, question: Question, told: Told) -> Verdict:
    found, values, write = decision(series, question), question.values(series), question.kind.format
    facts = (*found.evidence(write), *evidence(series, write, values))
    if found.step in (Step.CONTINUE, Step.INCONCLUSIVE):
        shown = open_verdict(write, values, *_open_reason(series, found, question), facts)
        softly = found.step is Step.INCONCLUSIVE and limit.level == "advise"  # what is only advised leaves no run open
        word = Word.ADVICE if softly else shown.word
        return replace(shown, word=word, required=told.required, value=found.median, unit=question.kind.unit)
    return verdict(
        Word.PASS if found.step is Step.PASS else Word.FAIL,
        measured=(told.measured or write)(found.median),
        required=told.required,
        value=found.median,
        unit=question.kind.unit,
        samples=values,
        evidence=facts,
    )


def _open_reason(series: Series, found: Decision, question: Question) -> tuple[str, tuple[str, ...]]:
    """Say why a series is open, and what to do: go on to the next look, or, after the last one, look harder."""
    if found.turns:
        worse = (found.trend.tau < 0) is question.at_least
        return found.reason, _SLOWING if worse else _SPEEDING
    if found.step is Step.INCONCLUSIVE:
        return found.reason, _DEEPER if series.depth == "quick" else _AGAIN
    if not series.refused:
        return found.reason, _DEEPER
    return f"{found.reason}; {series.refused}", series.refused_fix


def missing_count(series: Series, question: Question | None) -> int:
    """Give how many more samples the next look needs; 0 once a gate is decided.

    Without a question (a gate that the tier does not ask), up to the first look: other gates judge the same samples.
    """
    first = max(0, rule(series).looks[0].count - len(series.samples))
    if first or question is None or question.bound <= 0:
        return first
    found = decision(series, question)
    return 0 if found.next_count is None else found.next_count - found.samples_count
