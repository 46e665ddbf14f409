"""How the weights come into the engine. Pure."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from streamworthy.criteria.bottleneck import Bottleneck
from streamworthy.criteria.episodes import Question, Told, judge_episodes
from streamworthy.criteria.first_token import seconds
from streamworthy.criteria.series import failed
from streamworthy.criteria.spec import Limit, bounds, optional, required
from streamworthy.facts.cause import Cause
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
    """Judge whether the weights are mapped from the files, with read-ahead, and that no anonymous copy of them exists.

    Weights that fit in memory are read once: only when they are streamed does it matter how their pages come in.
    """
    if mapping.repack_asked:
        return not_applicable("this tier lets the engine repack: weights may be copied to anonymous memory")
    if not mapping.mmap_asked:
        return not_applicable("this tier asks the engine to read the weights instead of mapping them")
    engine = mapping.engine
    if engine is None:
        if mapping.failure:
            return failed(mapping.failure)
        return verdict(Word.INCONCLUSIVE, measured="nothing measured", cause=mapping.refused)
    return _untold(mapping, engine) or _judge_mapping(mapping, engine, limit)


_NO_NUMA = (
    'set numa = "disabled" in the tier\'s [engine] table; start a server without --numa',
    "numactl --interleave=all COMMAND  # spreads buffers over the nodes and leaves read-ahead as it is",
)
_DIRECT_IO = ("start the engine without direct I/O (--no-direct-io, or --load-mode mmap), or take a newer build",)
_CANNOT_MAP = ("build the engine on this machine: what is installed was made for a system without mmap",)
_NO_COPY = ("set mmap = true and repack = false in the tier's [engine] table, use an engine that obeys",)


def _streams(mapping: Mapping) -> bool:
    return mapping.tensor_bytes > mapping.available_bytes


def _untold(mapping: Mapping, engine: EngineState) -> Verdict | None:
    if engine.kv_bytes is None or engine.compute_bytes is None:
        return unknown(
            "the engine's log does not tell its KV and compute buffers", "use a llama.cpp build of 2024 or later"
        )
    if engine.random_bytes is None and mapping.numa_asked != "disabled" and _streams(mapping):
        told = f"numa = {mapping.numa_asked} may turn read-ahead off for mapped weights, and this kernel does not tell"
        return unknown(told, _NO_NUMA[0])
    return None


def _judge_mapping(mapping: Mapping, engine: EngineState, limit: Limit) -> Verdict:
    own = (engine.kv_bytes or 0) + (engine.compute_bytes or 0) + engine.base_bytes
    share, ratio = engine.mapped_bytes / mapping.tensor_bytes, engine.rss_anon_bytes / own
    mapped, lean = share >= limit.values["at_least"], ratio <= limit.values["anonymous_at_most"]
    copied = not (mapped and lean)
    page_by_page = bool(engine.random_bytes) and _streams(mapping)
    marked = ", marked for random access" if page_by_page else ""
    cause = _copy_cause(engine, mapped=mapped, lean=lean) if copied else _page_cause(mapping) if page_by_page else ""
    behind = Bottleneck(word=Cause.ENGINE_CONFIGURATION, reason=cause, fix=(), confirmed=True)  # the maps show it
    return verdict(
        Word.FAIL if copied or page_by_page else Word.PASS,
        measured=f"{format_share(share)} mapped{marked}, anonymous {format_ratio(ratio)} of what the engine needs",
        required=(
            f"at least {format_share(limit.values['at_least'])} mapped, "
            f"anonymous at most {format_ratio(limit.values['anonymous_at_most'])}"
        ),
        value=share,
        unit=SHARE.unit,
        samples=(share,),
        cause=cause,
        fix=_copy_fix(engine) if copied else _NO_NUMA if page_by_page else (),
        evidence=(*_mapping_evidence(mapping, engine), *((f"bottleneck={behind.told}",) if cause else ())),
    )


def _mapping_evidence(mapping: Mapping, engine: EngineState) -> tuple[str, ...]:
    return (
        f"load_mode={engine.load_mode or 'not told'}",
        f"random_access={'not told' if engine.random_bytes is None else format_bytes(engine.random_bytes)}",
        f"numa={mapping.numa_asked}",
        f"rss_anon={format_bytes(engine.rss_anon_bytes)}",
        f"kv={format_bytes(engine.kv_bytes or 0)}",
        f"compute={format_bytes(engine.compute_bytes or 0)}",
        f"engine={format_bytes(engine.base_bytes)}",
        f"repack={format_bytes(engine.repack_bytes)}",
        f"locked={format_bytes(engine.locked_bytes)}",
        f"flash_attention={engine.flash_attention or 'not told'}",
        *((f"read_ahead_hint={engine.hint_refused}",) if engine.hint_refused else ()),
    )


def _copy_fix(engine: EngineState) -> tuple[str, ...]:
    if engine.unmapped.startswith("mmap is not supported"):
        return _CANNOT_MAP
    return _DIRECT_IO if engine.unmapped.startswith(("direct", "load_mode = dio")) else _NO_COPY


def _copy_cause(engine: EngineState, *, mapped: bool, lean: bool) -> str:
    if engine.repack_bytes and not lean:
        return f"the engine repacked {format_bytes(engine.repack_bytes)} of weights into anonymous memory"
    if not mapped:
        why = engine.unmapped or f"load mode {engine.load_mode or 'unknown'}"
        return f"the weights are not mapped from the files ({why}): they have to fit in memory"
    return "more anonymous memory than KV cache, buffers and engine need: weights are copied"


def _page_cause(mapping: Mapping) -> str:
    who = (
        "a NUMA mode of the engine" if mapping.numa_asked == "disabled" else f"the engine's numa = {mapping.numa_asked}"
    )
    return (
        f"{who} marks the mapped weights for random access (MADV_RANDOM): the kernel reads experts page by page, "
        "without read-ahead, and a disk then gives a twentieth of its rate"
    )
