"""How the weights come into the engine. Pure."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from streamworthy.criteria.episodes import Question, Told, judge_episodes
from streamworthy.criteria.first_token import seconds
from streamworthy.criteria.series import failed
from streamworthy.criteria.spec import Limit, bounds, optional, required
from streamworthy.units import (
    BYTES_PER_SECOND,
    RATIO,
    SECONDS,
    SHARE,
    format_bytes,
    format_rate,
    format_ratio,
    format_seconds,
    format_share,
)
from streamworthy.verdict import Verdict, Word, not_applicable, unknown, verdict

if TYPE_CHECKING:
    from streamworthy.facts.episode import EngineState, Mapping, Series


@bounds(at_most=optional(SECONDS), at_least=optional(BYTES_PER_SECOND))
def mmap(series: Series, limit: Limit) -> Verdict:
    """Judge the time from cold files to a usable context, as seconds, as bytes per second, or both."""
    asked = question(series, limit)
    if asked is None:
        return unknown("load.mmap: the tier gives neither at_most nor at_least", f"add one of them: {limit.see}")
    slowest, lowest = limit.values.get("at_most"), limit.values.get("at_least")
    bounds_text = [f"at most {format_seconds(slowest)}"] if slowest is not None else []
    bounds_text += [f"at least {format_rate(lowest)}"] if lowest is not None else []
    told = Told(
        required=", ".join(bounds_text),
        measured=lambda found: f"{format_seconds(found)}, {format_rate(series.workload.file_bytes / found)}",
    )
    return judge_episodes(series, limit, asked, told)


def question(series: Series, limit: Limit) -> Question | None:
    """Ask each episode for a load within the shorter of both bounds' times; None where the tier gives neither."""
    slowest, lowest = limit.values.get("at_most"), limit.values.get("at_least")
    times = [slowest] if slowest is not None else []
    times += [series.workload.file_bytes / lowest if lowest else inf] if lowest is not None else []
    return Question(values=seconds, bound=min(times), at_least=False, kind=SECONDS) if times else None


@bounds(at_least=required(SHARE), anonymous_at_most=required(RATIO))
def mapped_share(mapping: Mapping, limit: Limit) -> Verdict:
    """Judge whether the weights are mapped from the files, and that no anonymous copy of them exists."""
    if mapping.repack_asked:
        return not_applicable("this tier lets the engine repack: weights may be copied to anonymous memory")
    if not mapping.mmap_asked:
        return not_applicable("this tier asks the engine to read the weights instead of mapping them")
    if mapping.engine is None:
        if mapping.failure:
            return failed(mapping.failure)
        return verdict(Word.INCONCLUSIVE, measured="nothing measured", cause=mapping.refused)
    return _judge_mapping(mapping.engine, mapping.tensor_bytes, limit)


def _judge_mapping(engine: EngineState, tensor_bytes: int, limit: Limit) -> Verdict:
    if engine.kv_bytes is None or engine.compute_bytes is None:
        return unknown(
            "the engine's log does not tell its KV and compute buffers", "use a llama.cpp build of 2024 or later"
        )
    share = engine.mapped_bytes / tensor_bytes
    own = engine.kv_bytes + engine.compute_bytes + engine.base_bytes
    ratio = engine.rss_anon_bytes / own
    mapped, lean = share >= limit.values["at_least"], ratio <= limit.values["anonymous_at_most"]
    return verdict(
        Word.PASS if mapped and lean else Word.FAIL,
        measured=f"{format_share(share)} mapped, anonymous {format_ratio(ratio)} of what the engine needs",
        required=(
            f"at least {format_share(limit.values['at_least'])} mapped, "
            f"anonymous at most {format_ratio(limit.values['anonymous_at_most'])}"
        ),
        value=share,
        unit=SHARE.unit,
        samples=(share,),
        cause=_mapping_cause(engine, mapped=mapped, lean=lean),
        fix=()
        if mapped and lean
        else ("set mmap = true and repack = false in the tier's [engine] table, use an engine that obeys",),
        evidence=(
            f"load_mode={engine.load_mode or 'not told'}",
            f"rss_anon={format_bytes(engine.rss_anon_bytes)}",
            f"kv={format_bytes(engine.kv_bytes)}",
            f"compute={format_bytes(engine.compute_bytes)}",
            f"engine={format_bytes(engine.base_bytes)}",
            f"repack={format_bytes(engine.repack_bytes)}",
            f"locked={format_bytes(engine.locked_bytes)}",
            f"flash_attention={engine.flash_attention or 'not told'}",
        ),
    )


def _mapping_cause(engine: EngineState, *, mapped: bool, lean: bool) -> str:
    if engine.repack_bytes and not lean:
        return f"the engine repacked {format_bytes(engine.repack_bytes)} of weights into anonymous memory"
    if not mapped:
        mode = engine.load_mode or "unknown"
        return f"the weights are not mapped from the files (load mode {mode}): they have to fit in memory"
    return "" if lean else "more anonymous memory than KV cache, buffers and engine need: weights are copied"
