"""Whole files that are no language model, or whose layers lack what the keys promise."""

from __future__ import annotations

from dataclasses import replace

from tests.selftest.differential.case import case
from tests.selftest.differential.model import EXPERTS, make_whole
from tests.selftest.gguf.build import F32, Tensor


def whole(change):
    """Put one whole file in the place of the set, and change it."""

    def alter(shards):
        shards[:] = [make_whole()]
        change(shards[0])

    return alter


def only(keys, tensors):
    """Give a file other keys and tensors."""

    def change(file):
        file.keys, file.tensors = list(keys), list(tensors)

    return change


def apart(file):
    """Cut the experts of each layer into a tensor each, as converters did until April 2024."""
    tensors = []
    for one in file.tensors:
        if "_exps" not in one.name:
            tensors.append(one)
            continue
        size = len(one.data) // EXPERTS
        for expert in range(EXPERTS):
            name = one.name.replace("_exps.", f".{expert}.")
            tensors.append(
                replace(one, name=name, dims=one.dims[:2], data=one.data[expert * size : (expert + 1) * size])
            )
    file.tensors = tensors


def without(file, *parts):
    """Leave out all tensors with one of these in their names."""
    file.tensors = [one for one in file.tensors if not any(part in one.name for part in parts)]


def text(name, value):
    """Give a key that holds a text."""
    return (name, "str", value)


def small(name):
    """Give a tensor of 64 x 8 weights."""
    return Tensor(name, (64, 8), F32, b"\x01" * 2048)


ADAPTER = (text("general.type", "adapter"), text("general.architecture", "qwen3moe"), text("adapter.type", "lora"))
LORA = (small("blk.0.attn_q.weight.lora_a"), small("blk.0.attn_q.weight.lora_b"))
MATRIX = (text("general.type", "imatrix"), ("imatrix.chunk_count", "u32", 3))
PROJECTOR = (text("general.type", "mmproj"), text("general.architecture", "clip"))
DIRECTIONS = (text("general.architecture", "controlvector"), text("controlvector.model_hint", "qwen3moe"))

for label, (keys, tensors, says) in {
    "a LoRA adapter": (ADAPTER, LORA, "LoRA adapter"),
    "an importance matrix": (MATRIX, (small("blk.0.attn_q.weight.in_sum2"),), "importance matrix"),
    "a projector": (PROJECTOR, (small("v.blk.0.attn_q.weight"),), "projector"),
    "an older projector": (PROJECTOR[1:], (small("v.blk.0.attn_q.weight"),), "projector"),
    "a control vector": (DIRECTIONS, (small("direction.1"),), "control vector"),
    "a model of pictures": (
        (text("general.architecture", "flux"),),
        (small("double_blocks.0.weight"),),
        "language model",
    ),
}.items():
    case("companions", label, whole(only(keys, tensors)), says=says)
case("companions", "a vocabulary", whole(lambda file: setattr(file, "tensors", [])), says="vocabulary alone")

case("parts", "one tensor for each expert", whole(apart), says="made before April 2024")
case(
    "parts", "no experts", whole(lambda file: without(file, "_exps", "gate_inp")), says="tensors of experts: found none"
)
case("parts", "no layers", whole(lambda file: without(file, "blk.")), says="layers without tensors: found 3 of 3")
case("parts", "no last layer", whole(lambda file: without(file, "blk.2.")), says="the first is layer 2")
case("parts", "the last layer alone", whole(lambda file: without(file, "blk.0.", "blk.1.")), says="2 of 3")
case(
    "parts",
    "a last layer for multi-token prediction that was left out",
    whole(lambda file: (without(file, "blk.2."), file.set_key("qwen3moe.nextn_predict_layers", "u32", 1))),
    says="nextn|layers without tensors",
)
case(
    "parts",
    "heads of more layers than there are",
    whole(lambda file: file.set_key("qwen3moe.attention.head_count_kv", "arr[u32]", [2] * 4)),
    says="4 numbers, expected one, or one for each of 3 layers",
)
case(
    "parts",
    "heads of each layer",
    whole(lambda file: file.set_key("qwen3moe.attention.head_count_kv", "arr[u32]", [2] * 3)),
)
