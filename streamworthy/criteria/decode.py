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

_READ_FIX = (
    "cat /sys/block/*/queue/read_ahead_kb  # a window far above the experts' size reads in vain",
    "ps aux --sort=-rss | head             # memory that others take is page cache lost",
)


@bounds(at_least=required(TOKENS_PER_SECOND))
def cold_rate(series: Series, limit: Limit) -> Verdict:
    """Judge the first tokens after the weights were evicted."""
    return judge_rate(series, limit, cause="experts come from the disk too slowly", fix=_READ_FIX)


@bounds(at_least=optional(TOKENS_PER_SECOND), at_least_of_ceiling=optional(SHARE))
def warm_rate(series: Series, limit: Limit) -> Verdict:
    """Judge tokens a second in the warm state, absolutely, as a share of what memory bandwidth allows, or both."""
    share = limit.values.get("at_least_of_ceiling")
    if share is None and limit.values.get("at_least") is None:
        return unknown(
            "decode.warm_rate: the tier gives neither at_least nor at_least_of_ceiling",
            f"add one of them: {limit.see}",
        )
    asked = question(series, limit)
    if asked is None:
        return unknown(
            "decode.warm_rate: at_least_of_ceiling needs the tier's memory bandwidth and the model's bytes per token",
            f"give the tier's reference memory bandwidth, or at_least instead: {limit.see}",
        )
    part = f" ({format_share(share)} of the memory bandwidth's ceiling)" if share is not None else ""
    streams = series.state == "warm, steady"
    told = Told(
        required=f"at least {format_tokens_per_second(asked.bound)}{part}",
        cause=_warm_cause(streams=streams),
        fix=_READ_FIX if streams else ("ps aux --sort=-%cpu | head", "lscpu | grep -i mhz"),
    )
    return judge_episodes(series, limit, asked, told)


def question(series: Series, limit: Limit) -> Question | None:
    """Ask each episode for the higher of both floors; None where one cannot be told or the tier gives neither."""
    lowest, share = limit.values.get("at_least"), limit.values.get("at_least_of_ceiling")
    ceiling = series.ceiling_tokens_per_second
    if (lowest is None and share is None) or (share is not None and ceiling is None):
        return None
    return at_least(max(lowest or 0.0, (share or 0.0) * (ceiling or 0.0)))


def _warm_cause(*, streams: bool) -> str:
    if streams:
        return "weights exceed memory, and those that miss come from the disk too slowly"
    return "weights are in memory, so memory bandwidth, cores or another load hold the engine back"


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
