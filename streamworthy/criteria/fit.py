"""Whether what has to stay in memory does. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.criteria.spec import Limit, bounds, required
from streamworthy.units import BYTES, FLAG, RATIO, format_bytes, format_ratio
from streamworthy.verdict import Verdict, Word, not_applicable, unknown, verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streamworthy.facts.fit import LedgerFacts, LedgerLine
    from streamworthy.facts.gguf import ModelSizes
    from streamworthy.facts.plan import EnginePlan


@bounds(reserve=required(BYTES), weights_in_memory=required(FLAG))
def ledger(facts: LedgerFacts, limit: Limit) -> Verdict:
    """Judge what has to stay in memory against what there is.

    Anonymous memory and dense weights, which every token reads, always have to; experts only where the tier holds all
    ``weights_in_memory`` instead of streaming them, or where its engine is told to hold them: repacked, read or locked.
    ``reserve`` is left to the system.
    """
    if facts.partial:
        return unknown(
            "shards are missing or broken, so the sizes of the weights are not known",
            "see the gates shards.complete and shards.headers",
        )
    holds_all = bool(limit.values["weights_in_memory"]) or bool(facts.held)
    told = "" if limit.values["weights_in_memory"] else facts.held  # a contradiction in the tier comes first
    reserve = int(limit.values["reserve"])
    lines = (*facts.anonymous, facts.dense, *((facts.experts,) if holds_all else ()))
    need = sum(line.size_bytes for line in lines) + reserve
    short = need - facts.available_bytes
    return verdict(
        Word.FAIL if short > 0 else Word.PASS,
        measured=f"needs {format_bytes(need)}, {format_bytes(facts.available_bytes)} available",
        required=f"at most {format_bytes(facts.available_bytes)} ({facts.available_basis})",
        value=float(need),
        unit=BYTES.unit,
        cause=_cause(lines, reserve, short, holds_all=holds_all, held=told) if short > 0 else "",
        fix=((_STREAM_FIX,) * bool(told) + _fix(facts, holds_all=holds_all)) if short > 0 else (),
        evidence=tuple(_evidence(facts, lines, reserve, need, holds_all=holds_all)),
    )


_STREAM_FIX = 'in [engine]: mmap = true, repack = false, lock = "nothing"    # experts then stay in the files'


def _cause(lines: Iterable[LedgerLine], reserve: int, short: int, *, holds_all: bool, held: str) -> str:
    parts = {line.name: line.size_bytes for line in lines} | {"reserve, which the tier leaves to the system": reserve}
    largest = max(parts, key=lambda name: parts[name])
    whole = "the whole model" if holds_all else "what every token needs"
    cause = f"{whole} is {format_bytes(short)} too large; most of it: {largest}, {format_bytes(parts[largest])}"
    return f"{held}: {cause}" if held else cause


def _fix(facts: LedgerFacts, *, holds_all: bool) -> tuple[str, ...]:
    lines = ["ps -eo rss,comm --sort=-rss | head    # what could be closed"]
    if facts.available_basis.startswith("control group"):
        lines.insert(0, "systemctl show --property=MemoryMax UNIT    # the limit of the engine's unit or container")
    lines += [
        f'in [engine]: less context_tokens, or kv_type = "q8_0"    # KV cache now {format_bytes(line.size_bytes)}'
        for line in facts.anonymous
        if line.name == "KV cache"
    ]
    return (*lines, "take a smaller quantisation" + (", or a tier that streams experts" if holds_all else ""))


def _evidence(
    facts: LedgerFacts, lines: Iterable[LedgerLine], reserve: int, need: int, *, holds_all: bool
) -> Iterable[str]:
    for line in lines:
        yield f"{line.name}={format_bytes(line.size_bytes)} ({line.basis})"
    yield f"reserve={format_bytes(reserve)}"
    if not holds_all and facts.experts.size_bytes:
        left = max(0, facts.available_bytes - need)
        share = min(1.0, left / facts.experts.size_bytes)
        yield (
            f"left for experts={format_bytes(left)} of {format_bytes(facts.experts.size_bytes)} ({share * 100:.1f} %)"
        )


@bounds(at_least=required(RATIO), reserve=required(BYTES))
def cache(facts: LedgerFacts, sizes: ModelSizes, plan: EnginePlan, limit: Limit) -> Verdict:
    """Judge what the need leaves as page cache, in multiples of the experts that one token reads.

    Below one an LRU cache never hits: each expert is dropped before it is wanted again.
    """
    reason = _no_cache_wanted(sizes, plan)
    if reason:
        return not_applicable(reason)
    if facts.partial:
        return unknown(
            "shards are missing or broken, so the sizes of the weights are not known", "see the gate shards.complete"
        )
    need = sum(line.size_bytes for line in (*facts.anonymous, facts.dense)) + int(limit.values["reserve"])
    left, token = max(0, facts.available_bytes - need), sizes.routed_bytes_per_token
    least = limit.values["at_least"]
    enough = left >= facts.experts.size_bytes or left >= least * token
    return verdict(
        Word.PASS if enough else Word.FAIL,
        measured=f"{format_bytes(left)} left as page cache, {format_ratio(left / token)} of a token's experts",
        required=f"at least {format_ratio(least)} of {format_bytes(token)}",
        value=left / token,
        unit=RATIO.unit,
        cause="" if enough else _cliff(left, token, least),
        fix=() if enough else (*_fix(facts, holds_all=False), f"memory: {format_bytes(least * token - left)} more"),
        evidence=(
            f"available={format_bytes(facts.available_bytes)} ({facts.available_basis})",
            f"need={format_bytes(need)}",
        ),
    )


def _no_cache_wanted(sizes: ModelSizes, plan: EnginePlan) -> str:
    if not sizes.routed_bytes_per_token:
        return "the model has no experts: every token reads all weights"
    if plan.repack or not plan.mmap or plan.lock_bytes < 0:
        return "the engine holds all weights in memory of its own (repack, mlock or mmap off)"
    return ""


def _cliff(left: int, token: int, least: float) -> str:
    if left < token:
        return "the cache is smaller than one token's experts, so none is still there when it is wanted again"
    return f"below {format_ratio(least)} of a token's experts a cache hardly hits: every token reads them from the disk"
