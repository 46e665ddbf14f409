"""Sorts tensors by what a decoded token does with them, from names alone.

Names: llama.cpp's LLM_TENSOR_NAMES (llama-arch.cpp). A token reads every dense tensor, some experts of each routed
one, and a row of each embedding table. Layers of multi-token prediction come last and are not read.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from streamworthy.facts.tensor_kinds import KindSizes, TensorKind, TensorPlace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from streamworthy.facts.gguf import HeaderFacts, TensorFacts
    from streamworthy.gguf.metadata import Metadata

_LAYER = re.compile(r"blk\.(\d{1,4})\.")
# ffn_gate_exps, ffn_up_exps, ffn_down_exps, ffn_gate_up_exps; ffn_up_chexps of one architecture
_ROUTED = re.compile(r"_exps(?:\.|$)|_chexps(?:\.|$)")
_SHARED = re.compile(r"_shexp(?:\.|$)")
_EMBEDDING = re.compile(r"(?:per_layer_)?token_embd\.weight|token_types\.weight|position_embd\.weight")
_OUTPUT = "output.weight"
TIED = "token_embd.weight"  # is the output matrix too where there is none


def layer_of(name: str) -> int | None:
    """Give the layer that a tensor belongs to, None for one that belongs to none."""
    match = _LAYER.match(name)
    return int(match[1]) if match else None


def is_routed(name: str) -> bool:
    """Tell whether a tensor holds all routed experts of its layer."""
    return bool(_ROUTED.search(name))


def kind_teller(metadata: Metadata, headers: Sequence[HeaderFacts]) -> Callable[[str], TensorKind]:
    """Give the function that tells a tensor's kind by its name. ProbeError when the model's keys are not usable.

    Whether the embedding is the output matrix too shows in all headers: while shards are missing it counts as such.
    """
    layers, experts = metadata.layers, metadata.find("expert_count") or 0
    tied = not any(tensor.name == _OUTPUT for header in headers for tensor in header.tensors)

    def tell(name: str) -> TensorKind:
        layer = layer_of(name)
        if layer is not None and layer >= layers:
            return TensorKind.UNUSED
        if experts and is_routed(name):
            return TensorKind.ROUTED
        if _SHARED.search(name):
            return TensorKind.SHARED
        if name == _OUTPUT or (tied and name == TIED):
            return TensorKind.OUTPUT
        return TensorKind.EMBEDDING if _EMBEDDING.fullmatch(name) else TensorKind.DENSE

    return tell


def sort_tensors(metadata: Metadata, headers: Sequence[HeaderFacts]) -> dict[TensorKind, list[TensorFacts]]:
    """Sort the tensors of all headers by kind. ProbeError when the model's keys are not usable."""
    tell = kind_teller(metadata, headers)
    groups: dict[TensorKind, list[TensorFacts]] = {kind: [] for kind in TensorKind}
    for header in headers:
        for tensor in header.tensors:
            groups[tell(tensor.name)].append(tensor)
    return groups


def measure_kinds(metadata: Metadata, headers: Sequence[HeaderFacts]) -> tuple[KindSizes, ...]:
    """Add up the tensors of all headers by kind; a kind without tensors is left out."""
    groups = sort_tensors(metadata, headers)
    return tuple(_add_up(kind, tensors) for kind, tensors in groups.items() if tensors)


def _add_up(kind: TensorKind, tensors: Sequence[TensorFacts]) -> KindSizes:
    types: Counter[str] = Counter()
    for tensor in tensors:
        types[tensor.type_name] += tensor.size_bytes
    return KindSizes(
        kind=kind,
        tensor_count=len(tensors),
        parameter_count=sum(tensor.elements for tensor in tensors),
        size_bytes=sum(tensor.size_bytes for tensor in tensors),
        type_bytes=tuple(types.most_common()),
    )


def place_tensors(metadata: Metadata, headers: Mapping[Path, HeaderFacts]) -> tuple[TensorPlace, ...]:
    """Tell where each tensor lies; ``headers`` by their files' paths. What a cut file does not hold is left out."""
    tell = kind_teller(metadata, tuple(headers.values()))
    return tuple(place for path, header in headers.items() for place in _places(path, header, tell))


def _places(path: Path, header: HeaderFacts, tell: Callable[[str], TensorKind]) -> Iterator[TensorPlace]:
    for tensor in header.tensors:
        offset = header.data_start_bytes + tensor.offset_bytes
        held = min(tensor.size_bytes, header.file_bytes - offset)
        if held > 0:
            yield TensorPlace(
                path=path,
                offset_bytes=offset,
                size_bytes=held,
                kind=tell(tensor.name),
                layer=layer_of(tensor.name),
            )
