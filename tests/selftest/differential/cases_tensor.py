"""Mutations of tensor tables: names, types and shapes."""

from __future__ import annotations

from streamworthy.gguf.tensor_types import TENSOR_TYPES
from tests.selftest.differential.case import case
from tests.selftest.differential.changes import add, last_dims, patch, remove, reshape, retype, tensor

case(
    "names of tensors",
    "one twice in a shard",
    tensor(2, "blk.1.attn_k.weight", name="blk.1.attn_v.weight"),
    says="second time",
)
case("names of tensors", "one in two shards", lambda shards: shards[2].tensors.append(shards[1].tensors[0]), says="too")
case("names of tensors", "one moved to another shard", lambda shards: shards[2].tensors.append(shards[1].tensors.pop()))
case("names of tensors", "an empty name", tensor(2, "blk.1.attn_k.weight", name=""), says="name of tensor")
case("names of tensors", "63 bytes", tensor(2, "blk.1.attn_k.weight", name="x" * 63), says="attn_k")
case("names of tensors", "64 bytes", tensor(2, "blk.1.attn_k.weight", name="x" * 64), says="name of tensor")
case("names of tensors", "5000 bytes", tensor(2, "blk.1.attn_k.weight", name="x" * 5000), says="name of tensor")
case(
    "names of tensors",
    "a NUL in the name",
    tensor(2, "blk.1.attn_k.weight", name="blk.1.attn_k.weight\0"),
    says="attn_k",
    because="the name goes on behind a NUL, which other tools do not cut off",
)
case("names of tensors", "not UTF-8", after=patch(2, b"blk.1.attn_k.weight", b"blk.1.attn_\xff.weight"), says="attn")
case(
    "names of tensors",
    "a layer too many",
    tensor(2, "blk.1.attn_k.weight", name="blk.7.attn_k.weight"),
    says="attn_k|blk.7",
)
case("names of tensors", "an unknown tensor more", lambda shards: add(shards, "blk.1.mystery.weight"), says="mystery")
case(
    "names of tensors",
    "an unknown global tensor more",
    lambda shards: add(shards, "mystery.weight"),
    engine_only="a tensor that belongs to no layer and that the engine's table does not have",
)
for part in (
    "token_embd",
    "output_norm",
    "output.weight",
    "blk.1.attn_k.weight",
    "blk.2.ffn_gate_inp",
    "blk.0.ffn_up_exps",
    "blk.1.attn_norm",
    "blk.1.attn_q_norm",
):
    case(
        "names of tensors", f"without {part}", lambda shards, part=part: remove(shards, part), says=part.split(".")[-1]
    )

for type_id in (*sorted(TENSOR_TYPES), 4, 5, 31, 32, 33, 36, 37, 38, 43, 97, 133, 156, 255, 2**31, 2**32 - 1):
    for part in ("blk.1.attn_k.weight", "blk.1.ffn_gate_inp", "blk.1.ffn_up_exps", "blk.1.ffn_norm", "token_embd"):
        case(
            "types",
            f"{part} of type {type_id}",
            lambda s, part=part, type_id=type_id: retype(s, part, type_id),
            says=f"type of tensor|shape of tensor|{part.split('.')[-1]}",
        )

for label, dims in {
    "no dimension": (),
    "five dimensions": (64, 64, 1, 1, 1),
    "a zero": (64, 0),
    "turned round": (128, 64),
    "one row less": (64, 63),
    "one row more": (64, 65),
    "a row that is no whole block": (33, 64),
    "2^63": (2**32, 2**31),
    "2^64": (2**32, 2**32),
    "near 2^63": (2**62, 1),
    "wraps to its size": (2**64 - 64, 64),
    "ones behind": (64, 64, 1, 1),
    "three real dimensions": (64, 32, 2),
}.items():
    case(
        "shapes", f"attn_v: {label}", tensor(2, "blk.1.attn_v.weight", dims=dims), says="dimension|shape|attn_v|offset"
    )
    case(
        "shapes",
        f"last of shard 2: {label}",
        lambda s, dims=dims: last_dims(s, dims),
        says="dimension|shape|missing|ffn",
    )
for part, dims in {
    "blk.1.attn_k.weight": (64, 32),
    "blk.1.attn_q.weight": (64, 64),
    "blk.1.attn_output.weight": (64, 64),
    "blk.1.ffn_norm": (32,),
    "blk.1.ffn_gate_inp": (64, 8),
    "blk.1.ffn_up_exps": (64, 64, 2),
    "blk.1.ffn_down_exps": (32, 64, 4),
    "token_embd": (64, 64),
    "output.weight": (64, 64),
    "output_norm": (32,),
}.items():
    case(
        "shapes",
        f"{part} as {dims} with data to match",
        lambda s, part=part, dims=dims: reshape(s, part, dims),
        says=part.removeprefix("blk.1.").removesuffix(".weight"),
    )
