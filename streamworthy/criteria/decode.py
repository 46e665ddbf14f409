"""How fast tokens are generated, and whether they are the right ones. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.criteria.answer import answer_fault
from streamworthy.criteria.ceiling import judge_efficiency, judge_stalls
from streamworthy.criteria.disturbed import despite_load
from streamworthy.criteria.episodes import Question, Told, judge_episodes
from streamworthy.criteria.rates import at_least, judge_rate
from streamworthy.criteria.series import failed
from streamworthy.criteria.spec import Limit, bounds, optional, required
from streamworthy.units import RATIO, SHARE, TOKENS_PER_SECOND, format_share, format_tokens_per_second
from streamworthy.verdict import Verdict, Word, unknown, verdict

if TYPE_CHECKING:
    from streamworthy.facts.episode import Answers, Series
    from streamworthy.facts.roofs import RoofFacts


@bounds(at_least=required(TOKENS_PER_SECOND))
def cold_rate(series: Series, limit: Limit) -> Verdict:
    """Judge the first tokens after the weights were evicted."""
    return judge_rate(series, limit)


@bounds(at_least=optional(TOKENS_PER_SECOND), at_least_of_ceiling=optional(SHARE))
def warm_rate(series: Series, limit: Limit) -> Verdict:
    """Judge tokens a second in the warm state, absolutely, as a share of what memory bandwidth allows, or both."""
    share, asked = limit.values.get("at_least_of_ceiling"), question(series, limit)
    if asked is None:
        return unknown(
            "decode.warm_rate: the tier gives neither at_least nor at_least_of_ceiling",
            f"add one of them: {limit.see}",
        )
    part = f" ({format_share(share)} of the memory bandwidth's ceiling)" if share is not None else ""
    told = Told(required=f"at least {format_tokens_per_second(asked.bound)}{part}")
    return judge_episodes(series, limit, asked, told)


def question(series: Series, limit: Limit) -> Question | None:
    """Ask each episode for the higher of both floors; None where the tier gives neither."""
    lowest, share = limit.values.get("at_least"), limit.values.get("at_least_of_ceiling")
    if lowest is None and share is None:
        return None
    return at_least(max(lowest or 0.0, (share or 0.0) * series.workload.ceiling_tokens_per_second))


@bounds(at_least=required(SHARE))
def efficiency(series: Series, roofs: RoofFacts, limit: Limit) -> Verdict:
    """Judge the warm rate as a share of what memory and disk allow."""
    return despite_load(series, limit, lambda taken: judge_efficiency(taken, roofs, limit))


@bounds(at_most=required(RATIO))
def stalls(series: Series, limit: Limit) -> Verdict:
    """Judge how much longer a slow token takes than the middle one."""
    return despite_load(series, limit, lambda taken: judge_stalls(taken, limit))


@bounds()
def answer(answers: Answers, limit: Limit) -> Verdict:  # noqa: ARG001 - every criterion takes its limit
    """Judge whether every episode gave the same sound greedy answer."""
    if not answers.tokens:
        if answers.failure:
            return failed(answers.failure)
        return verdict(Word.INCONCLUSIVE, measured="no answer", cause=answers.refused or "no episode was asked")
    fault = answer_fault(answers)
    same = sum(tokens == answers.tokens[0] for tokens in answers.tokens)
    return verdict(
        Word.FAIL if fault else Word.PASS,
        measured=f"{same} of {len(answers.tokens)} episodes gave the same answer",
        required="the same sound answer in every episode",
        value=same / len(answers.tokens),
        unit=SHARE.unit,
        cause=fault,
        fix=("check the shards' hashes, then try another build of the engine",) if fault else (),
        evidence=(f"answer={answers.texts[0]!r}",),
    )
