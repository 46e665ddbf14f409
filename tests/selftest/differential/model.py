"""A tiny qwen3moe in three shards, as a thing whose names, keys, tensors and bytes can be changed before writing."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass, field

from streamworthy.gguf.names import engine_name
from tests.selftest.gguf.build import F32, Q8_0, Tensor, build

LAYERS, EMBEDDING, VOCABULARY, HEAD, HEADS, GROUPS = 3, 64, 96, 32, 4, 2
EXPERTS, USED, FEED = 4, 2, 64
PREFIX = "tiny"
NUMBERS = {
    "context_length": 256,
    "embedding_length": EMBEDDING,
    "block_count": LAYERS,
    "feed_forward_length": FEED,
    "attention.head_count": HEADS,
    "attention.head_count_kv": GROUPS,
    "attention.key_length": HEAD,
    "attention.value_length": HEAD,
    "expert_count": EXPERTS,
    "expert_used_count": USED,
    "expert_feed_forward_length": FEED,
    "vocab_size": VOCABULARY,
}


@dataclass
class Shard:
    """One file to write; ``options`` go to :func:`build`."""

    name: str
    keys: list
    tensors: list
    options: dict = field(default_factory=dict)

    def raw(self):
        """Give the file's bytes."""
        return build(tuple(self.keys), tuple(self.tensors), **self.options)

    def set_key(self, name, kind, value):
        """Give a key another type and value, or add it."""
        self.keys = [key for key in self.keys if key[0] != name] + [(name, kind, value)]

    def drop_key(self, name):
        """Leave a key out."""
        self.keys = [key for key in self.keys if key[0] != name]

    def index(self, part):
        """Find a tensor by a part of its name."""
        return next(index for index, tensor in enumerate(self.tensors) if part in tensor.name)


def floats(rng, *dims):
    """Make data in F32."""
    count = 1
    for dim in dims:
        count *= dim
    return struct.pack(f"<{count}f", *(rng.uniform(-0.5, 0.5) for _ in range(count)))


def blocks(rng, *dims):
    """Make data in Q8_0: blocks of a half-precision scale and 32 weights."""
    count = 1
    for dim in dims:
        count *= dim
    return b"".join(struct.pack("<e", rng.uniform(0.001, 0.01)) + rng.randbytes(32) for _ in range(count // 32))


def _tensors(rng):
    def small(name, *dims):
        return Tensor(name, dims, F32, floats(rng, *dims))

    def large(name, *dims):
        return Tensor(name, dims, Q8_0, blocks(rng, *dims))

    yield large("token_embd.weight", EMBEDDING, VOCABULARY)
    for layer in range(LAYERS):
        blk = f"blk.{layer}."
        yield small(f"{blk}attn_norm.weight", EMBEDDING)
        yield large(f"{blk}attn_q.weight", EMBEDDING, HEADS * HEAD)
        yield large(f"{blk}attn_k.weight", EMBEDDING, GROUPS * HEAD)
        yield large(f"{blk}attn_v.weight", EMBEDDING, GROUPS * HEAD)
        yield large(f"{blk}attn_output.weight", HEADS * HEAD, EMBEDDING)
        yield small(f"{blk}attn_q_norm.weight", HEAD)
        yield small(f"{blk}attn_k_norm.weight", HEAD)
        yield small(f"{blk}ffn_norm.weight", EMBEDDING)
        yield small(f"{blk}ffn_gate_inp.weight", EMBEDDING, EXPERTS)
        yield large(f"{blk}ffn_gate_exps.weight", EMBEDDING, FEED, EXPERTS)
        yield large(f"{blk}ffn_up_exps.weight", EMBEDDING, FEED, EXPERTS)
        yield large(f"{blk}ffn_down_exps.weight", FEED, EMBEDDING, EXPERTS)
    yield small("output_norm.weight", EMBEDDING)
    yield large("output.weight", EMBEDDING, VOCABULARY)


def _keys():
    yield "general.architecture", "str", "qwen3moe"
    yield "general.alignment", "u32", 32
    yield "tokenizer.ggml.model", "str", "no_vocab"
    for name, value in NUMBERS.items():
        yield f"qwen3moe.{name}", "u32", value
    yield "qwen3moe.attention.layer_norm_rms_epsilon", "f32", 1e-6


def split_keys(number, count, tensors):
    """Give the keys that tell a shard's place; ``number`` is 1-based."""
    return [
        ("split.no", "u16", number - 1),
        ("split.count", "u16", count),
        ("split.tensors.count", "i32", tensors),
    ]


def make_set(count=3, *, seed=1, prefix=PREFIX):
    """Give the sound set: ``count`` shards with about equally many tensors."""
    tensors = list(_tensors(random.Random(seed)))  # noqa: S311 - the same weights everywhere
    shards = []
    for number in range(1, count + 1):
        begin, end = (len(tensors) * part // count for part in (number - 1, number))
        keys = [*(_keys() if number == 1 else ()), *split_keys(number, count, len(tensors))]
        shards.append(Shard(engine_name(prefix, number, count), keys, tensors[begin:end]))
    return shards


def make_whole():
    """Give the same model in one file."""
    return Shard(f"{PREFIX}.gguf", list(_keys()), list(_tensors(random.Random(1))))  # noqa: S311 - as above


def quantise(tensor, type_id, block_weights, block_bytes):
    """Give a tensor another type, filled with small positive bytes; for floats pass one weight a block."""
    count = 1
    for dim in tensor.dims:
        count *= dim
    return Tensor(tensor.name, tensor.dims, type_id, b"\x01" * (count // block_weights * block_bytes))
