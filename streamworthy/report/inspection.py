"""An inspection as text: columns for people, each number with what it stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.facts.tensor_kinds import TensorKind
from streamworthy.report.columns import table
from streamworthy.units import format_bytes, format_rate, format_ratio, format_share

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from streamworthy.facts.fit import KvFacts, LedgerFacts
    from streamworthy.facts.inspection import Ceilings, Completeness, Inspection

_LABEL = 14
_MOST_NAMED = 3


def format_inspection(found: Inspection) -> Iterator[str]:
    """Write the inspection line by line; sums over tensors of a partial set begin with ``>=``."""
    least = ">= " if found.completeness.partial else ""
    yield from _head(found, least)
    yield ""
    yield from table(_kind_rows(found), right=(1, 2, 3, 4))
    yield ""
    yield from _sizes(found, least)
    yield ""
    yield from _memory(found, least)
    yield ""
    yield from format_ceilings(found.ceilings, experts=bool(found.sizes.expert_count))
    yield ""
    yield from _space(found, least)


def derive(found: Inspection) -> dict[str, object]:
    """Give what follows from the facts and stands in the text: for readers of the JSON, which holds the facts."""
    sizes, ledger = found.sizes, found.ledger
    left = None if ledger is None else cache_bytes(ledger)
    return {
        "partial": found.completeness.partial,
        "bits_per_weight": {
            "all": 8 * sizes.total_bytes / max(1, sizes.parameter_count),
            **{str(kind.kind): kind.bits_per_weight for kind in found.kinds},
        },
        "kv_bytes": None if found.kv is None else found.kv.total_bytes,
        "cache_bytes": left,
        "cache_to_experts_ratio": None if left is None or not sizes.expert_bytes else left / sizes.expert_bytes,
        "space_bytes": found.intermediate_bytes + found.total.whole_bytes,
    }


def format_parameters(count: int) -> str:
    """Write a number of weights as model cards do: ``134.5 M``, ``744.0 B``."""
    for name, factor in (("T", 10**12), ("B", 10**9), ("M", 10**6), ("k", 10**3)):
        if count >= factor:
            return f"{count / factor:.1f} {name}"
    return str(count)


def _line(label: str, text: str) -> str:
    return f"{label:{_LABEL}}{text}"


def _head(found: Inspection, least: str) -> Iterator[str]:
    sizes = found.sizes
    experts = (
        f", {sizes.expert_count} experts of which a token uses {sizes.expert_used_count}" if sizes.expert_count else ""
    )
    yield _line("model", f"{sizes.name or found.model}: {sizes.architecture}, {sizes.layer_count} layers{experts}")
    if sizes.context_trained_tokens:
        yield _line(
            "trained on",
            f"{sizes.context_trained_tokens} tokens of context, {sizes.vocabulary_tokens} in its vocabulary",
        )
    yield _line("parameters", f"{least}{format_parameters(sizes.parameter_count)}")
    bits = 8 * sizes.total_bytes / max(1, sizes.parameter_count)
    shards = found.completeness.shards_expected
    yield _line(
        "weights",
        f"{least}{format_bytes(sizes.total_bytes)} in {shards} file{'s' * (shards > 1)}, {bits:.2f} bits per weight",
    )
    yield from _gaps(found.completeness)


def _gaps(known: Completeness) -> Iterator[str]:
    if known.partial:
        tensors = f"{known.tensors_seen} of {known.tensors_expected or 'an unknown number of'} tensors"
        files = f"{known.shards_present} of {known.shards_expected} shards"
        yield _line(
            "partial", f"{tensors} seen, {files} are there: what is marked >= is a lower bound, <= an upper one;"
        )
        yield _line("", "the context, the KV cache and the counts of layers and experts are exact")
    for label, names in (("missing", known.absent), ("not read", known.unread), ("unfinished", known.short)):
        for name in names[:_MOST_NAMED]:
            yield _line(label, name)
        if len(names) > _MOST_NAMED:
            yield _line("", f"and {len(names) - _MOST_NAMED} more")


def _kind_rows(found: Inspection) -> Sequence[tuple[str, ...]]:
    rows = [("kind", "tensors", "parameters", "size", "bits/weight", "types")]
    tied = all(kind.kind is not TensorKind.EMBEDDING for kind in found.kinds) and not found.completeness.partial
    for kind in found.kinds:
        types = ", ".join(f"{name} {format_share(size / max(1, kind.size_bytes))}" for name, size in kind.type_bytes)
        rows.append(
            (
                "output = embeddings" if tied and kind.kind is TensorKind.OUTPUT else str(kind.kind),
                str(kind.tensor_count),
                format_parameters(kind.parameter_count),
                format_bytes(kind.size_bytes),
                f"{kind.bits_per_weight:.2f}",
                types,
            )
        )
    return rows


def _sizes(found: Inspection, least: str) -> Iterator[str]:
    sizes = found.sizes
    yield _line("dense", f"{least}{format_bytes(sizes.dense_bytes)}, read for every token")
    if sizes.expert_count:
        slabs = ", ".join(format_bytes(size) for size in sizes.slab_bytes) or "none seen yet"
        yield _line(
            "experts", f"{least}{format_bytes(sizes.expert_bytes)} in slabs of {slabs} (one expert in one tensor)"
        )
    rows = sizes.bytes_per_token - sizes.dense_bytes - sizes.routed_bytes_per_token
    parts = (
        f"dense {format_bytes(sizes.dense_bytes)}, routed experts {format_bytes(sizes.routed_bytes_per_token)},"
        f" embedding rows {format_bytes(rows)}"
    )
    yield _line("cold token", f"{least}{format_bytes(sizes.bytes_per_token)}: {parts}")
    yield _line("KV cache", format_kv(found.kv) if found.kv else f"not known: {found.kv_unknown}")


def format_kv(kv: KvFacts) -> str:
    """Write what grows with the context, what does not, and the sum."""
    growing = (kv.full_bytes + kv.indexer_bytes) / max(1, kv.context_tokens)
    fixed = kv.window_bytes + kv.state_bytes
    apart = f" and {format_bytes(fixed)} in windows and states" if fixed else ""
    each = f"{format_bytes(growing)} a token{apart}"
    return f"{each}, {format_bytes(kv.total_bytes)} at {kv.context_tokens} tokens ({kv.kv_type}, {kv.basis})"


def cache_bytes(ledger: LedgerFacts) -> int:
    """Give what is left as page cache for experts; negative: so much is short."""
    needed = ledger.dense.size_bytes + sum(line.size_bytes for line in ledger.anonymous)
    return ledger.available_bytes - needed


def _memory(found: Inspection, least: str) -> Iterator[str]:
    ledger = found.ledger
    if ledger is None:
        yield _line("memory", f"ledger not known: {found.ledger_unknown}")
        return
    yield "memory of this machine"
    rows = [("  available", format_bytes(ledger.available_bytes), ledger.available_basis)]
    rows.append((f"  {ledger.dense.name}", f"{least}{format_bytes(ledger.dense.size_bytes)}", ledger.dense.basis))
    rows += [(f"  {line.name}", format_bytes(line.size_bytes), line.basis) for line in ledger.anonymous]
    left, most = cache_bytes(ledger), "<= " if least else ""
    if left < 0:
        rows.append(
            (
                "  short",
                f"{least}{format_bytes(-left)}",
                "does not fit: a smaller quantisation or context, or more memory",
            )
        )
    else:
        rows.append(("  left as cache", f"{most}{format_bytes(left)}", _ratio(found, left, most)))
    yield from table(rows, right=(1,))


def _ratio(found: Inspection, left: int, most: str) -> str:
    sizes = found.sizes
    if not sizes.expert_bytes:
        return "no experts seen yet" if sizes.expert_count else "no experts: nothing is streamed"
    ratio = left / sizes.expert_bytes
    said = f"cache : experts = {most}{format_ratio(ratio)}"
    if most:
        return said
    if ratio >= 1:
        return f"{said}: all experts stay in memory"
    if found.hit_share_prior == 0:
        return f"{said}: less than 1.5 tokens' experts, so the hit rate is 0"
    return f"{said}: a hit rate near {format_share(found.hit_share_prior or 0.0)}, as published runs had"


def format_ceilings(found: Ceilings, *, experts: bool) -> Iterator[str]:
    """Write both tables: rates by disk for each hit rate, and by memory, which no hit rate lifts."""
    what = "routed experts" if experts else "weights"
    yield f"{f'ceilings in tok/s {found.basis}'.rstrip()}: nothing real is above them, the smaller of the two counts"
    disks = list(dict.fromkeys(one.disk_bytes_per_second for one in found.disk))
    memories = list(dict.fromkeys(one.memory_bytes_per_second for one in found.memory))
    rows = [[f"  by disk, {format_bytes(found.streamed_bytes_per_token)} of {what} a token", *map(format_rate, disks)]]
    for hit in dict.fromkeys(one.hit_share for one in found.disk):
        cells = [_tokens(one.tokens_per_second) for one in found.disk if one.hit_share == hit]
        rows.append([f"    hit rate {hit * 100:.0f} %", *cells])
    rows.append(["  by memory, whatever the hit rate", *map(format_rate, memories)])
    for context in dict.fromkeys(one.context_tokens for one in found.memory):
        cells = [_tokens(one.tokens_per_second) for one in found.memory if one.context_tokens == context]
        rows.append([f"    after {context} tokens" if context else "    empty context", *cells])
    columns = 1 + max(len(disks), len(memories))
    yield from table([row + [""] * (columns - len(row)) for row in rows], right=range(1, columns))


def _tokens(rate: float) -> str:
    if rate >= 10**4:
        return "> 10000"  # nobody computes as fast
    return f"{rate:.0f}" if rate >= 10**2 else f"{rate:.3g}"


def _space(found: Inspection, least: str) -> Iterator[str]:
    product, exact = found.total.whole_bytes, found.total.exact
    both, intermediate = found.intermediate_bytes + product, format_bytes(found.intermediate_bytes)
    guess = "" if exact else f" ({found.total.basis})"
    text = f"{intermediate} in bf16, from which it is quantised, and {format_bytes(product)} of product{guess}"
    yield _line("to make it", f"{least}{format_bytes(both)} of disk: {text}")
