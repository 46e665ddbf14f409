"""Holds a model's tensors against its keys: what the engine refuses after it has read every header, or dies from.

Source: the loading code of llama.cpp, July 2026 (llama-model.cpp, src/models/*.cpp), and what its CPU kernels compute
with (ggml-cpu.c); compared with the engine by tests/selftest/differential. Only what holds for every architecture that
this suite knows is checked; the engine's own table has more.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from streamworthy.errors import ProbeError
from streamworthy.facts.gguf import GgufFault
from streamworthy.gguf.attention import knows
from streamworthy.gguf.metadata import Metadata
from streamworthy.gguf.model_parts import find_part_faults, recognise_companion
from streamworthy.gguf.model_shape import expected_shapes, find_key_faults
from streamworthy.gguf.tensor_kinds import layer_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from streamworthy.facts.gguf import HeaderFacts, ShardHeader, TensorFacts

_OTHER = ("take another upload of the model",)
_TENSOR_ALIGNMENT = 32  # ggml-impl.h: a mapped file's tensors have to begin there
_UNCOMPUTED = frozenset({"Q8_1", "Q8_K", "I8", "I16", "I32", "I64", "F64"})  # no dot product in ggml-cpu.c
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_MOST_RENAMED = 4  # of a dozen and more in a layer
_TABLES = (".ffn_gate_tid2eid.weight",)  # integers by design: token to expert


class _Held(NamedTuple):
    entry: ShardHeader
    header: HeaderFacts
    tensor: TensorFacts


def check_model(found: Sequence[ShardHeader]) -> tuple[ShardHeader, ...]:
    """Add to the headers of a whole set what is wrong with the model that they make up.

    Nothing is added while a header is broken or has no architecture: that is a fault of its own.
    """
    headers = [entry.header for entry in found if entry.header is not None and not entry.faults]
    if len(headers) < len(found) or not headers:
        return tuple(found)
    count = headers[0].keys.get("split.count")
    if isinstance(count, int) and len(found) == 1 < count:  # a part under a name of its own
        return tuple(found)
    companion = recognise_companion(headers[0])
    if companion is not None:
        return (replace(found[0], faults=(companion,)), *found[1:])
    if not any(header.tensors for header in headers):
        fault = _fault(
            "tensors", "none", "weights", cause="a vocabulary alone, or the keys of a set without its shards?"
        )
        return (replace(found[0], faults=(fault,)), *found[1:])
    try:
        metadata = Metadata(found[0].name, headers[0].keys)
    except ProbeError:
        fault = _fault("general.architecture", "nothing", "the model's architecture, in the first shard")
        return (replace(found[0], faults=(fault,)), *found[1:])
    faults: dict[int, list[GgufFault]] = {entry.number: [] for entry in found}
    faults[found[0].number] += find_key_faults(metadata, headers[0])
    held = [_Held(entry, entry.header, tensor) for entry in found if entry.header for tensor in entry.header.tensors]
    for one in held:
        faults[one.entry.number] += _check_type(one)
    for entry in found:
        faults[entry.number] += _check_begin(entry.header)
    if not faults[found[0].number]:
        parts = _parts(metadata, held)
        faults[found[0].number] += find_part_faults(metadata, parts)
        if knows(metadata.architecture):
            _check_shapes(metadata, held, faults)
            _check_layers(metadata, held, parts, faults)
    return tuple(replace(entry, faults=tuple(faults[entry.number])) for entry in found)


def _fault(item: str, found: str, expected: str, offset: int | None = None, cause: str = "") -> GgufFault:
    return GgufFault(
        kind="model", offset_bytes=offset, item=item, found=found, expected=expected, cause=cause, fix=_OTHER
    )


def _place(one: _Held) -> int:
    return one.header.data_start_bytes + one.tensor.offset_bytes


def _check_type(one: _Held) -> Iterable[GgufFault]:
    tensor = one.tensor
    if not _NAME.fullmatch(tensor.name):
        yield _fault(
            "name of a tensor", repr(tensor.name), "letters, digits, points and lines", _place(one), "damaged here?"
        )
    item = f"type of tensor '{tensor.name}'"
    rows = tensor.elements // tensor.dims[0] if tensor.dims[0] else 0
    if rows <= 1 and len(tensor.dims) == 1:
        if tensor.type_name != "F32":
            cause = "the engine crashes at the first token: norms and biases are not to be quantised"
            yield _fault(item, tensor.type_name, "F32", _place(one), cause)
    elif tensor.type_name in _UNCOMPUTED and not tensor.name.endswith(_TABLES):
        cause = "the engine loads it and crashes at the first token"
        yield _fault(item, tensor.type_name, "a type that the engine computes with", _place(one), cause)


def _check_begin(header: HeaderFacts | None) -> Iterable[GgufFault]:
    if header is not None and header.tensors and header.data_start_bytes % _TENSOR_ALIGNMENT:
        found = f"{header.data_start_bytes} (general.alignment is {header.alignment_bytes})"
        cause = "the engine aborts when it maps this file"
        yield _fault("begin of the data", found, f"a multiple of {_TENSOR_ALIGNMENT}", header.data_start_bytes, cause)


def _check_shapes(metadata: Metadata, held: Sequence[_Held], faults: Mapping[int, list[GgufFault]]) -> None:
    shapes = expected_shapes(metadata)
    names = {one.tensor.name for one in held}
    for one in held:
        tensor = one.tensor
        for place, (size, key) in shapes.of(tensor.name).items():
            found = tensor.dims[place] if place < len(tensor.dims) else 1
            if found != size:
                shown = " x ".join(map(str, tensor.dims))
                fault = _fault(
                    f"shape of tensor '{tensor.name}'", shown, f"{size} ({key}) as number {place + 1}", _place(one)
                )
                faults[one.entry.number].append(fault)
        if tensor.elements != _product(tensor.dims[: shapes.most_dims(tensor.name)]):
            shown = " x ".join(map(str, tensor.dims))
            fault = _fault(
                f"shape of tensor '{tensor.name}'", shown, f"{shapes.most_dims(tensor.name)} dimensions", _place(one)
            )
            faults[one.entry.number].append(fault)
    for name in ("token_embd.weight", "output_norm.weight"):
        if name not in names:
            faults[held[0].entry.number if held else min(faults)].append(
                _fault(f"tensor '{name}'", "nothing", "the tensor")
            )


def _product(dims: Iterable[int]) -> int:
    product = 1
    for dim in dims:
        product *= dim
    return product


def _parts(metadata: Metadata, held: Sequence[_Held]) -> dict[int, dict[str, _Held]]:
    """Sort tensors by layer, those of multi-token prediction included, and by their names below it."""
    parts: dict[int, dict[str, _Held]] = {layer: {} for layer in range(metadata.all_layers)}
    for one in held:
        layer = layer_of(one.tensor.name)
        if layer is not None and layer in parts:
            parts[layer][one.tensor.name.split(".", 2)[2]] = one
    return parts


def _check_layers(
    metadata: Metadata,
    held: Sequence[_Held],
    all_parts: Mapping[int, dict[str, _Held]],
    faults: Mapping[int, list[GgufFault]],
) -> None:
    """Compare layers with each other: one alone that lacks a tensor, or has one more, than several alike.

    Layers that differ by design, such as dense ones, ones with an indexer or of multi-token prediction, differ in more
    than a tensor or a few names, or are several.
    """
    parts = {layer: names for layer, names in all_parts.items() if layer < metadata.layers}
    for one in held:
        layer = layer_of(one.tensor.name)
        if layer is not None and layer >= metadata.all_layers:
            count = f"a layer below {metadata.all_layers} (block_count)"
            faults[one.entry.number].append(_fault(f"tensor '{one.tensor.name}'", f"layer {layer}", count, _place(one)))
    kinds = Counter(frozenset(names) for names in parts.values())
    common = [kind for kind, count in kinds.items() if count > 1]
    for layer, names in parts.items():
        kind = frozenset(names)
        if kinds[kind] > 1 or not kind:
            continue
        for like in common:
            _compare(layer, names, like, faults)


def _compare(
    layer: int, names: Mapping[str, _Held], like: frozenset[str], faults: Mapping[int, list[GgufFault]]
) -> None:
    lacking, more = like - names.keys(), names.keys() - like
    renamed = len(lacking) == len(more) <= _MOST_RENAMED
    if not (renamed or len(lacking) + len(more) == 1):
        return
    near = next(iter(names.values())).entry.number
    for part in lacking:
        faults[near].append(_fault(f"tensor 'blk.{layer}.{part}'", "nothing", "the tensor, as in the other layers"))
    for part in more:
        one = names[part]
        faults[one.entry.number].append(
            _fault(f"tensor '{one.tensor.name}'", "this tensor", "none, as in the other layers")
        )
