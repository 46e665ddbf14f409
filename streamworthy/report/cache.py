"""What the page cache holds of a model, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.bench.residency_map import add_up
from streamworthy.report.columns import table
from streamworthy.units import format_bytes, format_rate, format_share

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from streamworthy.facts.cache import CacheMap, Hold, LayerCache, RangeResidency, WarmUp

_EVERY = "every token"


def format_cache(found: CacheMap) -> Iterator[str]:
    """Write three tables: shards, kinds of tensors, layers; runs of layers that read alike are one line."""
    yield from table(_shard_rows(found), right=(1, 2, 3, 4))
    if found.kinds:
        yield ""
        rows = [("kind", "size", "resident", "share")]
        rows += [(str(kind), *_cells(part)) for kind, part in found.kinds]
        yield from table(rows, right=(1, 2, 3))
        yield ""
        yield from table(_layer_rows(found.layers), right=(1, 2))
    if found.layout_unknown:
        yield f"which tensors these are is not known: {found.layout_unknown}"
    if found.sampled:
        yield "estimates from about 1,000 pages, some of which were read for it: only owner and writer are told exactly"


def _shard_rows(found: CacheMap) -> Sequence[tuple[str, ...]]:
    rows = [("shard", "size", "resident", "share", "lately evicted", "asked by")]
    rows += [(shard.name, *_cells(shard.whole), _evicted(shard.whole), shard.method) for shard in found.shards]
    if len(found.shards) > 1:
        whole = add_up(shard.whole for shard in found.shards)
        rows.append(("all", *_cells(whole), _evicted(whole), ""))
    return rows


def _cells(part: RangeResidency) -> tuple[str, str, str]:
    return format_bytes(part.total_bytes), format_bytes(part.resident_bytes), share(part)


def share(part: RangeResidency | None) -> str:
    """Write the resident share of a range; a dash where there is none."""
    if part is None:
        return "-"
    return format_share(part.resident_bytes / part.total_bytes if part.total_bytes else 1.0)


def _evicted(part: RangeResidency) -> str:
    return "-" if part.evicted_bytes is None else format_bytes(part.evicted_bytes)


def _layer_rows(layers: Sequence[LayerCache]) -> Sequence[tuple[str, ...]]:
    rows = [("layer", _EVERY, "experts")]
    runs: list[tuple[int, int, str, str]] = []
    for one in layers:
        every, experts = share(one.every_token), share(one.experts)
        if runs and runs[-1][1:] == (one.layer - 1, every, experts):
            runs[-1] = (runs[-1][0], one.layer, every, experts)
        else:
            runs.append((one.layer, one.layer, every, experts))
    rows += [
        (f"{first}-{last}" if last > first else str(first), every, experts) for first, last, every, experts in runs
    ]
    return rows


def format_warm_up(done: WarmUp) -> Iterator[str]:
    """Write what warming did."""
    rate = f" at {format_rate(done.read_bytes / done.seconds)}" if done.read_bytes and done.seconds else ""
    wanted, before = format_bytes(done.wanted_bytes), format_bytes(done.before_bytes)
    yield f"wanted {wanted}, {before} were there, read {format_bytes(done.read_bytes)}{rate}"
    held = done.after_bytes / done.wanted_bytes if done.wanted_bytes else 1.0
    yield f"resident {format_bytes(done.after_bytes)}, {format_share(held)} of what was wanted"


def format_hold(done: Hold) -> Iterator[str]:
    """Write what locking did."""
    part = "all" if done.held_bytes == done.wanted_bytes else format_share(done.held_bytes / done.wanted_bytes)
    wanted = format_bytes(done.wanted_bytes)
    yield f"holding  {format_bytes(done.held_bytes)}, {part} of the {wanted} that every token reads"
    locked = (done.locked_before.locked_bytes, done.locked_after.locked_bytes)
    yield f"VmLck    {' -> '.join('unknown' if one is None else format_bytes(one) for one in locked)}"
    yield f"resident {format_share(done.before.share)} -> {format_share(done.after.share)} ({done.after.method})"
