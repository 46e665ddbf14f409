"""A small mixture of experts with every kind of tensor, and one of any size that is all holes. Not a test."""

from __future__ import annotations

import struct

from streamworthy.gguf.names import engine_name
from tests.selftest.gguf.build import F16, F32, Q4_0, Q8_0, Tensor, build, text, value_of
from tests.selftest.gguf.reshard import reshard

LAYERS, SPARE, EXPERTS, USED, WIDTH, WORDS = 3, 1, 8, 2, 256, 512
KEYS = (
    ("general.architecture", "str", "qwen3moe"),
    ("general.name", "str", "Three layers and one spare"),
    ("qwen3moe.block_count", "u32", LAYERS + SPARE),
    ("qwen3moe.nextn_predict_layers", "u32", SPARE),
    ("qwen3moe.embedding_length", "u32", WIDTH),
    ("qwen3moe.context_length", "u32", 4096),
    ("qwen3moe.expert_count", "u32", EXPERTS),
    ("qwen3moe.expert_used_count", "u32", USED),
    ("qwen3moe.attention.head_count", "u32", 4),
    ("qwen3moe.attention.head_count_kv", "u32", 2),
    ("qwen3moe.attention.key_length", "u32", 64),
    ("qwen3moe.attention.value_length", "u32", 64),
    ("tokenizer.ggml.tokens", "arr[str]", ["t"] * WORDS),
)
BLOCKS = {F32: (1, 4), F16: (1, 2), Q4_0: (32, 18), Q8_0: (32, 34)}


def size_of(dims, type_id):
    """Give a tensor's bytes."""
    elements = 1
    for dim in dims:
        elements *= dim
    weights, size = BLOCKS[type_id]
    return elements // weights * size


def shapes():
    """List names, dimensions and types in the order of the file."""
    yield "output.weight", (WIDTH, WORDS), Q8_0
    yield "token_embd.weight", (WIDTH, WORDS), F16
    yield "output_norm.weight", (WIDTH,), F32
    for layer in range(LAYERS + SPARE):
        blk = f"blk.{layer}"
        yield f"{blk}.attn_q.weight", (WIDTH, WIDTH), Q8_0
        yield f"{blk}.ffn_gate_inp.weight", (WIDTH, EXPERTS), F32
        yield f"{blk}.ffn_gate_exps.weight", (WIDTH, WIDTH, EXPERTS), Q4_0
        yield f"{blk}.ffn_down_exps.weight", (WIDTH, WIDTH, EXPERTS), Q4_0
        yield f"{blk}.ffn_up_shexp.weight", (WIDTH, WIDTH), Q8_0


def write_model(folder, *, keys=KEYS, drop=()):
    """Write the model as one file of about 3 MB; tensors named in ``drop`` are left out."""
    tensors = [
        Tensor(name, dims, kind, bytes([number + 1]) * size_of(dims, kind))
        for number, (name, dims, kind) in enumerate(shapes())
        if name not in drop
    ]
    path = folder / "moe.gguf"
    path.write_bytes(build(keys, tensors))
    return path


def write_shards(folder, count=3):
    """Write the model in shards; give their paths."""
    whole = write_model(folder)
    paths = reshard(whole, folder, count, prefix="moe")
    whole.unlink()
    return paths


def write_sparse_set(folder, *, shard_count, layers_each, expert_dims, experts):
    """Write headers of a model of any size, and holes where its tensors are; give the shards' paths.

    ``expert_dims`` are two multiples of 32: a layer has three tensors of so many weights for each expert, in Q4_0.
    """
    layers, paths = shard_count * layers_each, []
    keys = [(name, kind, value) for name, kind, value in KEYS if "nextn" not in name]
    keys = [(name, kind, layers if name.endswith("block_count") else value) for name, kind, value in keys]
    keys = [(name, kind, experts if name.endswith("expert_count") else value) for name, kind, value in keys]
    for number in range(shard_count):
        tensors = list(_layer_shapes(range(number * layers_each, (number + 1) * layers_each), expert_dims, experts))
        if number == 0:
            tensors = [("output.weight", (WIDTH, WORDS), Q8_0), ("token_embd.weight", (WIDTH, WORDS), F16), *tensors]
        split = [("split.no", "u16", number), ("split.count", "u16", shard_count)]
        path = folder / engine_name("sparse", number + 1, shard_count)
        _write_holes(path, [*(keys if number == 0 else ()), *split], tensors)
        paths.append(path)
    return paths


def _layer_shapes(layers, expert_dims, experts):
    for layer in layers:
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            yield f"blk.{layer}.{part}.weight", (WIDTH, WIDTH), Q8_0
        for part in ("gate", "up", "down"):
            yield f"blk.{layer}.ffn_{part}_exps.weight", (*expert_dims, experts), Q4_0


def _write_holes(path, keys, tensors, alignment=32):
    body, offset = b"".join(text(name) + value_of(kind, value) for name, kind, value in keys), 0
    for name, dims, kind in tensors:
        body += text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, offset)
        offset += -(-size_of(dims, kind) // alignment) * alignment
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)) + body
    with path.open("wb") as file:
        file.write(head + bytes(-len(head) % alignment))
        file.truncate(file.tell() + offset)
