"""Sorts a model's tensors by what a decoded token does with them, from headers alone.

A token reads every dense tensor, ``expert_used_count`` of ``expert_count`` experts of each routed tensor, and one row
of each embedding table. Layers of multi-token prediction are in the file, but plain decoding never reads them.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from streamworthy.facts.gguf import ModelSizes
from streamworthy.facts.tensor_kinds import EVERY_TOKEN, TensorKind
from streamworthy.gguf.tensor_kinds import TIED, layer_of, sort_tensors

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from streamworthy.facts.gguf import HeaderFacts, TensorFacts
    from streamworthy.gguf.metadata import Metadata


def measure_sizes(metadata: Metadata, headers: Sequence[HeaderFacts], *, partial: bool) -> ModelSizes:
    """Add up the tensors of all shards by their use. ProbeError when the model's keys are not usable."""
    tensors = [tensor for header in headers for tensor in header.tensors]
    layers, experts = metadata.layers, metadata.find("expert_count") or 0
    used = metadata.per_layer("expert_used_count", metadata.all_layers, 0)
    kinds = sort_tensors(metadata, headers)
    routed, tables = kinds[TensorKind.ROUTED], kinds[TensorKind.EMBEDDING]
    tied = [tensor for tensor in kinds[TensorKind.OUTPUT] if tensor.name == TIED]
    dense_bytes = sum(_sum(kinds[kind]) for kind in EVERY_TOKEN)
    layer_routed = _routed_by_layer(routed, used, experts)
    return ModelSizes(
        partial=partial,
        name=metadata.text("general.name"),
        architecture=metadata.architecture,
        context_trained_tokens=metadata.find("context_length"),
        vocabulary_tokens=metadata.vocabulary_count,
        embedding_length=metadata.find("embedding_length") or 0,
        parameter_count=sum(tensor.elements for tensor in tensors),
        layer_count=layers,
        expert_count=experts,
        expert_used_count=max(used[:layers], default=0),
        total_bytes=_sum(tensors),
        dense_bytes=dense_bytes,
        embedding_bytes=_sum(tables) + _sum(tied),
        expert_bytes=_sum(routed),
        unused_bytes=_sum(kinds[TensorKind.UNUSED]),
        routed_bytes_per_token=sum(layer_routed),
        bytes_per_token=dense_bytes + sum(layer_routed) + sum(_row_bytes(table) for table in tables),
        slab_bytes=tuple(sorted({tensor.size_bytes // experts for tensor in routed})),
        layer_routed_bytes=layer_routed,
        type_bytes=_type_bytes(tensors),
    )


def _sum(tensors: Iterable[TensorFacts]) -> int:
    return sum(tensor.size_bytes for tensor in tensors)


def _row_bytes(table: TensorFacts) -> int:
    return table.size_bytes // max(1, table.elements // max(1, table.dims[0]))


def _routed_by_layer(routed: Iterable[TensorFacts], used: Sequence[int], experts: int) -> tuple[int, ...]:
    layers: Counter[int] = Counter()
    for tensor in routed:
        layer = layer_of(tensor.name) or 0
        layers[layer] += tensor.size_bytes * used[layer] // experts
    return tuple(size for _, size in sorted(layers.items()))


def _type_bytes(tensors: Iterable[TensorFacts]) -> tuple[tuple[str, int], ...]:
    types: Counter[str] = Counter()
    for tensor in tensors:
        types[tensor.type_name] += tensor.size_bytes
    return tuple(types.most_common())
