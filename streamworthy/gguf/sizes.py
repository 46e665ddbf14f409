"""Sorts a model's tensors by what a decoded token does with them, from headers alone.

A token reads every dense tensor, ``expert_used_count`` of ``expert_count`` experts of each routed tensor, and one row
of each embedding table. Layers of multi-token prediction are in the file, but plain decoding never reads them.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from streamworthy.facts.gguf import ModelSizes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from streamworthy.facts.gguf import HeaderFacts, TensorFacts
    from streamworthy.gguf.metadata import Metadata

_LAYER = re.compile(r"blk\.(\d{1,4})\.")
# ffn_gate_exps, ffn_up_exps, ffn_down_exps, ffn_gate_up_exps; shared experts end in _shexp and are dense.
_ROUTED = re.compile(r"_exps(?:\.|$)|_chexps(?:\.|$)")
_EMBEDDING = re.compile(r"(?:per_layer_)?token_embd\.weight|token_types\.weight|position_embd\.weight")


def measure_sizes(metadata: Metadata, headers: Sequence[HeaderFacts], *, partial: bool) -> ModelSizes:
    """Add up the tensors of all shards by their use. ProbeError when the model's keys are not usable."""
    tensors = [tensor for header in headers for tensor in header.tensors]
    layers, experts = metadata.layers, metadata.find("expert_count") or 0
    used = metadata.per_layer("expert_used_count", metadata.all_layers, 0)
    unused = [tensor for tensor in tensors if _layer_of(tensor) >= layers]
    active = [tensor for tensor in tensors if _layer_of(tensor) < layers]
    routed = [tensor for tensor in active if experts and _ROUTED.search(tensor.name)]
    embeddings = [tensor for tensor in active if _EMBEDDING.fullmatch(tensor.name)]
    tied = _tied(active)
    dense_bytes = _sum(active) - _sum(routed) - _sum(embeddings) + _sum(tied)
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
        embedding_bytes=_sum(embeddings),
        expert_bytes=_sum(routed),
        unused_bytes=_sum(unused),
        routed_bytes_per_token=sum(layer_routed),
        bytes_per_token=dense_bytes
        + sum(layer_routed)
        + sum(_row_bytes(table) for table in embeddings if table not in tied),
        slab_bytes=tuple(sorted({tensor.size_bytes // experts for tensor in routed})),
        layer_routed_bytes=layer_routed,
        type_bytes=_type_bytes(tensors),
    )


def _layer_of(tensor: TensorFacts) -> int:
    """Give the layer that a tensor belongs to, -1 for one that belongs to none."""
    match = _LAYER.match(tensor.name)
    return int(match[1]) if match else -1


def _sum(tensors: Iterable[TensorFacts]) -> int:
    return sum(tensor.size_bytes for tensor in tensors)


def _tied(tensors: Sequence[TensorFacts]) -> list[TensorFacts]:
    """Give the embedding when it is the output matrix too, and so is read whole for every token."""
    if any(tensor.name == "output.weight" for tensor in tensors):
        return []
    return [tensor for tensor in tensors if tensor.name == "token_embd.weight"]


def _row_bytes(table: TensorFacts) -> int:
    return table.size_bytes // max(1, table.elements // max(1, table.dims[0]))


def _routed_by_layer(routed: Iterable[TensorFacts], used: Sequence[int], experts: int) -> tuple[int, ...]:
    layers: Counter[int] = Counter()
    for tensor in routed:
        layer = max(0, _layer_of(tensor))
        layers[layer] += tensor.size_bytes * used[layer] // experts
    return tuple(size for _, size in sorted(layers.items()))


def _type_bytes(tensors: Iterable[TensorFacts]) -> tuple[tuple[str, int], ...]:
    types: Counter[str] = Counter()
    for tensor in tensors:
        types[tensor.type_name] += tensor.size_bytes
    return tuple(types.most_common())
