"""Writes small GGUF files for tests, sound ones and ones with a single named change, without the gguf package."""

from __future__ import annotations

import struct
from dataclasses import dataclass

FORMATS = {
    "u8": (0, "B"), "i8": (1, "b"), "u16": (2, "H"), "i16": (3, "h"), "u32": (4, "I"), "i32": (5, "i"),
    "f32": (6, "f"), "bool": (7, "?"), "u64": (10, "Q"), "i64": (11, "q"), "f64": (12, "d"),
}  # fmt: skip
STR, ARR = 8, 9
F32, F16, Q4_0, Q8_0 = 0, 1, 2, 8


@dataclass(frozen=True)
class Tensor:
    """One tensor to write; ``offset`` None means behind the one before."""

    name: str
    dims: tuple[int, ...] = (32, 4)
    type_id: int = F32
    data: bytes = b"\x01" * 512
    offset: int | None = None


def text(value, order="<"):
    """Write a length and its bytes."""
    raw = value if isinstance(value, bytes) else value.encode()
    return struct.pack(order + "Q", len(raw)) + raw


def value_of(kind, value, order="<"):
    """Write a type id and a value; kinds are "u32", "str", "arr[u32]", "arr[str]"."""
    if kind.startswith("arr["):
        element = kind[4:-1]
        type_id = STR if element == "str" else FORMATS[element][0]
        body = b"".join(value_of(element, one, order)[4:] for one in value)
        return struct.pack(order + "IIQ", ARR, type_id, len(value)) + body
    if kind == "str":
        return struct.pack(order + "I", STR) + text(value, order)
    type_id, letter = FORMATS[kind]
    return struct.pack(order + "I" + letter, type_id, value)


def layout_of(tensors, alignment):
    """Give each tensor's offset."""
    end = 0
    for tensor in tensors:
        yield end if tensor.offset is None else tensor.offset
        end += -(-len(tensor.data) // alignment) * alignment


def build(
    keys=(("general.architecture", "str", "llama"),),
    tensors=(Tensor("token_embd.weight"), Tensor("output.weight")),
    *,
    version=3,
    magic=b"GGUF",
    order="<",
    alignment=32,
    tensor_count=None,
    key_count=None,
    last_padding=True,
):
    """Give a file's bytes. ``keys`` are (name, kind, value)."""
    head = magic + struct.pack(
        order + "IQQ",
        version,
        len(tensors) if tensor_count is None else tensor_count,
        len(keys) if key_count is None else key_count,
    )
    body = b"".join(text(name, order) + value_of(kind, value, order) for name, kind, value in keys)
    for tensor, offset in zip(tensors, layout_of(tensors, alignment), strict=True):
        dims = struct.pack(order + f"I{len(tensor.dims)}Q", len(tensor.dims), *tensor.dims)
        body += text(tensor.name, order) + dims + struct.pack(order + "IQ", tensor.type_id, offset)
    out = head + body
    if not tensors:
        return out
    out += bytes(-len(out) % alignment)
    for tensor in tensors[:-1]:
        out += tensor.data + bytes(-len(tensor.data) % alignment)
    last = tensors[-1].data
    return out + last + (bytes(-len(last) % alignment) if last_padding else b"")


def big_header_keys(*, tokens=155_000, merges=150_000):
    """Give the keys of a header as large as that of a 744B-class model: its vocabulary is what takes the time."""
    words = [f"tok{index:x}" + "x" * (index % 9) for index in range(tokens)]
    return (
        ("general.architecture", "str", "toy"),  # unknown, so that nothing is expected of its tensors
        ("toy.block_count", "u32", 78),
        ("toy.embedding_length", "u32", 32),
        ("toy.context_length", "u32", 2**20),
        ("general.name", "str", "A model of 744B"),
        ("tokenizer.ggml.model", "str", "gpt2"),
        ("tokenizer.ggml.tokens", "arr[str]", words),
        ("tokenizer.ggml.token_type", "arr[i32]", [1] * tokens),
        ("tokenizer.ggml.merges", "arr[str]", [f"{words[index]} {words[-index]}" for index in range(merges)]),
        ("split.no", "u16", 0),
        ("split.count", "u16", 7),
        ("split.tensors.count", "i32", 1014),
    )


def big_tensors(count=1014):
    """Give a table of so many tensors with tiny data."""
    return tuple(
        Tensor(f"blk.{index // 13}.part_{index % 13}.weight", (32,), F32, b"\x02" * 128) for index in range(count)
    )
