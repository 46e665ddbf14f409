"""What the page cache holds of a model: per shard, per kind of tensor and per layer."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from streamworthy.bench.page_cache import Span, ask_ranges, open_shard
from streamworthy.facts.cache import CacheMap, LayerCache, RangeResidency, ShardCache
from streamworthy.facts.episode import Residency
from streamworthy.facts.tensor_kinds import EVERY_TOKEN, TensorKind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

    from streamworthy.facts.tensor_kinds import TensorPlace

    _Found = Sequence[tuple[TensorPlace, RangeResidency]]

_PROBES = 1_000  # of all files, and as many of all tensors: each miss makes the kernel read the page asked about


def map_cache(
    paths: Sequence[Path], places: Sequence[TensorPlace], *, layout_unknown: str = "", without: Collection[str] = ()
) -> CacheMap:
    """Ask for every shard and, where the layout is known, for every tensor.

    ``layout_unknown`` is kept in the answer. ProbeError when no interface can tell, or a file cannot be opened.
    """
    sizes = {path: path.stat().st_size for path in paths}
    every_bytes = max(1, sum(sizes.values()))
    by_path: dict[Path, list[TensorPlace]] = {path: [] for path in paths}
    for place in places:
        by_path[place.path].append(place)
    shards, found = [], []
    for path in paths:
        whole = Span(offset_bytes=0, size_bytes=sizes[path], probes_count=_PROBES * sizes[path] // every_bytes)
        mine = by_path[path]
        spans = [whole, *(_span(place, every_bytes) for place in mine)]
        with open_shard(path) as descriptor:
            method, answers = ask_ranges(descriptor, path, spans, without=without)
        shards.append(ShardCache(name=path.name, whole=answers[0], method=method))
        found += list(zip(mine, answers[1:], strict=True))
    return CacheMap(
        shards=tuple(shards),
        kinds=_by_kind(found),
        layers=_by_layer(found),
        layout_unknown=layout_unknown,
        sampled=any(shard.method == "nowait sample" for shard in shards),
    )


def residency_of(places: Sequence[TensorPlace]) -> Residency:
    """Tell how much of some tensors is resident; ProbeError as for the map."""
    by_path: dict[Path, list[TensorPlace]] = defaultdict(list)
    for place in places:
        by_path[place.path].append(place)
    every_bytes = max(1, sum(place.size_bytes for place in places))
    methods: dict[str, None] = {}
    found: list[RangeResidency] = []
    for path, mine in by_path.items():
        with open_shard(path) as descriptor:
            method, answers = ask_ranges(descriptor, path, [_span(place, every_bytes) for place in mine])
        methods[method] = None
        found += answers
    total = add_up(found)
    return Residency(
        resident_bytes=total.resident_bytes, total_bytes=total.total_bytes, method="+".join(methods) or "nothing asked"
    )


def add_up(parts: Iterable[RangeResidency]) -> RangeResidency:
    """Add residencies; recently evicted bytes are told only when each part tells them."""
    parts = list(parts)
    evicted = [part.evicted_bytes for part in parts if part.evicted_bytes is not None]
    return RangeResidency(
        resident_bytes=sum(part.resident_bytes for part in parts),
        total_bytes=sum(part.total_bytes for part in parts),
        evicted_bytes=sum(evicted) if len(evicted) == len(parts) else None,
    )


def _span(place: TensorPlace, every_bytes: int) -> Span:
    probes = _PROBES * place.size_bytes // every_bytes
    return Span(offset_bytes=place.offset_bytes, size_bytes=place.size_bytes, probes_count=probes)


def _by_kind(found: _Found) -> tuple[tuple[TensorKind, RangeResidency], ...]:
    groups: dict[TensorKind, list[RangeResidency]] = {kind: [] for kind in TensorKind}
    for place, part in found:
        groups[place.kind].append(part)
    return tuple((kind, add_up(parts)) for kind, parts in groups.items() if parts)


def _by_layer(found: _Found) -> tuple[LayerCache, ...]:
    every: dict[int, list[RangeResidency]] = defaultdict(list)
    experts: dict[int, list[RangeResidency]] = defaultdict(list)
    for place, part in found:
        if place.layer is None or place.kind is TensorKind.UNUSED:
            continue
        (every if place.kind in EVERY_TOKEN else experts)[place.layer].append(part)
    return tuple(
        LayerCache(
            layer=layer,
            every_token=add_up(every[layer]) if layer in every else None,
            experts=add_up(experts[layer]) if layer in experts else None,
        )
        for layer in sorted({*every, *experts})
    )
