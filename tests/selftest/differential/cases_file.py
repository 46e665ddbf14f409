"""Mutations of single files: truncation, tables, layout, types, shapes, counts, versions, bytes."""

from __future__ import annotations

import os
import struct
from dataclasses import replace

from streamworthy.gguf.reader import read_header
from streamworthy.gguf.tensor_types import TENSOR_TYPES
from tests.selftest.differential.case import case, name_of
from tests.selftest.differential.cases_set import keyed
from tests.selftest.differential.model import quantise
from tests.selftest.gguf.build import Tensor

SECOND = name_of(2)
LEDGER = "the engine reserves nothing for this key in this architecture; the ledger believes it"


def tensor(number, part, **changes):
    """Change one entry of a shard's table."""

    def change(shards):
        shard = shards[number - 1]
        index = shard.index(part)
        shard.tensors[index] = replace(shard.tensors[index], **changes)

    return change


def option(number, **changes):
    """Change how a shard is written."""
    return lambda shards: shards[number - 1].options.update(changes)


def cut(number, where):
    """Cut a file at a place that ``where`` finds from its header."""

    def after(folder):
        path = folder / name_of(number)
        at = where(read_header(path))
        os.truncate(path, at)

    return after


def patch(number, old, new, count=1):
    """Replace bytes of a file."""

    def after(folder):
        path = folder / name_of(number)
        raw = path.read_bytes()
        assert old in raw
        path.write_bytes(raw.replace(old, new, count))

    return after


def edit(number, change):
    """Change a file's bytes by a function of its header and its bytes."""

    def after(folder):
        path = folder / name_of(number)
        raw = bytearray(path.read_bytes())
        change(read_header(path), raw)
        path.write_bytes(raw)

    return after


def _second_tensor(header):
    return header.data_start_bytes + header.tensors[1].offset_bytes


BOUNDARIES = {
    "nothing left": lambda header: 0,  # noqa: ARG005
    "inside of the magic": lambda header: 3,  # noqa: ARG005
    "behind the magic": lambda header: 4,  # noqa: ARG005
    "inside of the version": lambda header: 6,  # noqa: ARG005
    "behind the version": lambda header: 8,  # noqa: ARG005
    "behind the number of tensors": lambda header: 16,  # noqa: ARG005
    "behind the number of keys": lambda header: 24,  # noqa: ARG005
    "inside of the first key": lambda header: 35,  # noqa: ARG005
    "half of the header": lambda header: header.header_bytes // 2,
    "one byte before the table's end": lambda header: header.header_bytes - 1,
    "the table's end": lambda header: header.header_bytes,
    "the data's begin": lambda header: header.data_start_bytes,
    "one byte of data": lambda header: header.data_start_bytes + 1,
    "the second tensor": _second_tensor,
    "half of the file": lambda header: header.file_bytes // 2,
    "one byte before the last tensor's end": lambda header: header.need_bytes - 1,
}
for number in (1, 2, 3):
    for label, where in BOUNDARIES.items():
        case("cut", f"shard {number}: {label}", after=cut(number, where), says="missing|end of the file|0 bytes|cut short|room")
case("cut", "final padding alone", after=cut(3, lambda header: header.need_bytes))

case("names of tensors", "one twice in a shard", tensor(2, "blk.1.attn_k.weight", name="blk.1.attn_v.weight"), says="second time")
case("names of tensors", "one in two shards", lambda shards: shards[2].tensors.append(shards[1].tensors[0]), says="too")
case("names of tensors", "one moved to another shard", lambda shards: shards[2].tensors.append(shards[1].tensors.pop()))
case("names of tensors", "an empty name", tensor(2, "blk.1.attn_k.weight", name=""), says="name of tensor")
case("names of tensors", "63 bytes", tensor(2, "blk.1.attn_k.weight", name="x" * 63), says="attn_k")
case("names of tensors", "64 bytes", tensor(2, "blk.1.attn_k.weight", name="x" * 64), says="name of tensor")
case("names of tensors", "5000 bytes", tensor(2, "blk.1.attn_k.weight", name="x" * 5000), says="name of tensor")
case("names of tensors", "a NUL in the name", tensor(2, "blk.1.attn_k.weight", name="blk.1.attn_k.weight\0"), says="attn_k",
     because="the name goes on behind a NUL, which other tools do not cut off")  # fmt: skip
case("names of tensors", "not UTF-8", after=patch(2, b"blk.1.attn_k.weight", b"blk.1.attn_\xff.weight"), says="attn")
case("names of tensors", "a layer too many", tensor(2, "blk.1.attn_k.weight", name="blk.7.attn_k.weight"), says="attn_k|blk.7")
case("names of tensors", "an unknown tensor more", lambda shards: _add(shards, "blk.1.mystery.weight"), says="mystery")
case("names of tensors", "an unknown global tensor more", lambda shards: _add(shards, "mystery.weight"),
     engine_only="a tensor that belongs to no layer and that the engine's table does not have")  # fmt: skip
for part in ("token_embd", "output_norm", "output.weight", "blk.1.attn_k.weight", "blk.2.ffn_gate_inp", "blk.0.ffn_up_exps",
             "blk.1.attn_norm", "blk.1.attn_q_norm"):  # fmt: skip
    case("names of tensors", f"without {part}", lambda shards, part=part: _remove(shards, part), says=part.split(".")[-1])

for label, change in {
    "first offset is not 0": tensor(2, "blk.1", offset=32),
    "an offset that is not aligned": lambda shards: _offset(shards, 3, +4),
    "a gap": lambda shards: _offset(shards, 3, +32),
    "inside of the one before": lambda shards: _offset(shards, 3, -32),
    "the same as the one before": lambda shards: _offset_same(shards),
    "far behind the file": lambda shards: _offset(shards, 3, 2**40),
    "near 2^64": lambda shards: _offset(shards, 3, 2**64 - 2**20),
}.items():
    case("layout", label, change, says="offset of tensor")
case("layout", "the table in another order", lambda shards: _reorder(shards), says="offset of tensor")
for value in (0, 1, 2, 3, 8, 16, 24, 64, 128, 4096, 2**16, 2**31):
    case("layout", f"alignment {value} said", keyed(1, "general.alignment", "u32", value), says="alignment|offset|missing|cut")
    case("layout", f"alignment {value} said in shard 2", keyed(2, "general.alignment", "u32", value),
         says="alignment|offset|missing|cut")  # fmt: skip
    if 0 < value < 2**20:
        case("layout", f"alignment {value} said and kept", lambda shards, value=value: _align(shards, value), says="alignment")
for kind in ("u64", "i32", "u16", "str"):
    value = "32" if kind == "str" else 32
    case("layout", f"alignment as {kind}", keyed(1, "general.alignment", kind, value), says="alignment")

for type_id in (*sorted(TENSOR_TYPES), 4, 5, 31, 32, 33, 36, 37, 38, 43, 97, 133, 156, 255, 2**31, 2**32 - 1):
    for part in ("blk.1.attn_k.weight", "blk.1.ffn_gate_inp", "blk.1.ffn_up_exps", "blk.1.ffn_norm", "token_embd"):
        case("types", f"{part} of type {type_id}", lambda s, part=part, type_id=type_id: _retype(s, part, type_id),
             says=f"type of tensor|shape of tensor|{part.split('.')[-1]}")  # fmt: skip

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
    case("shapes", f"attn_v: {label}", tensor(2, "blk.1.attn_v.weight", dims=dims), says="dimension|shape|attn_v|offset")
    case("shapes", f"last of shard 2: {label}", lambda s, dims=dims: _last_dims(s, dims), says="dimension|shape|missing|ffn")
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
    case("shapes", f"{part} as {dims} with data to match", lambda s, part=part, dims=dims: _reshape(s, part, dims),
         says=part.removeprefix("blk.1.").removesuffix(".weight"))  # fmt: skip

for label, changes in {
    "one tensor less": {"tensor_count": 13},
    "one tensor more": {"tensor_count": 15},
    "no tensors": {"tensor_count": 0},
    "2^40 tensors": {"tensor_count": 2**40},
    "2^63 tensors": {"tensor_count": 2**63},
    "one key less": {"key_count": 2},
    "one key more": {"key_count": 4},
    "no keys": {"key_count": 0},
    "2^40 keys": {"key_count": 2**40},
    "2^64-1 keys": {"key_count": 2**64 - 1},
}.items():
    case("counts", label, option(2, **changes), says="")
for version in (0, 1, 2, 4, 5, 255, 2**16, 2**32 - 1):
    case("version", f"{version} in shard 2", option(2, version=version), says="version")
    case("version", f"{version} in all", lambda s, v=version: [one.options.update(version=v) for one in s], says="version")
case("version", "big-endian shard 2", option(2, order=">"), says="big-endian")
case("version", "big-endian set", lambda shards: [shard.options.update(order=">") for shard in shards], says="big-endian")
case("version", "big-endian version 2", option(2, order=">", version=2), says="big-endian")
case("version", "magic FUGG", option(2, magic=b"FUGG"), says="byte-swapped")
case("version", "magic gguf", option(2, magic=b"gguf"), says="magic")

STRANGERS = {
    "a Git LFS pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 90000\n",
    "a web page": b"<!doctype html><html>" + b" " * 300,
    "JSON": b'{"error":"Entry not found"}',
    "zeros": bytes(90_000),
    "a zip archive": b"PK\x03\x04" + bytes(500),
    "an old ggml file": b"tjgg" + bytes(500),
    "safetensors": struct.pack("<Q", 300) + b'{"a":{}}' + b" " * 300,
    "text": b"hello\n" * 30,
}
for label, raw in STRANGERS.items():
    for number in (1, 2):
        case("strangers", f"shard {number} is {label}", after=lambda folder, n=number, raw=raw: (folder / name_of(n)).write_bytes(raw),
             says="GGJT" if "ggml" in label else label.split()[-1].removesuffix("s"))  # fmt: skip

case("keys", "one twice", lambda shards: shards[0].keys.append(("qwen3moe.block_count", "u32", 3)), says="second time")
case("keys", "split.no twice", lambda shards: shards[1].keys.append(("split.no", "u16", 1)), says="second time")
case("keys", "an empty name", lambda shards: shards[0].keys.append(("", "u32", 3)), says="empty name")
case("keys", "a very long text", lambda shards: shards[0].keys.append(("general.description", "str", "x" * 300_000)))
case("keys", "a very long array", lambda shards: shards[0].keys.append(("x", "arr[u32]", [7] * 70_000)))
case("keys", "an array of nothing", lambda shards: shards[0].keys.append(("x", "arr[str]", [])))
case("keys", "bytes that are not UTF-8", lambda shards: shards[0].keys.append(("general.name", "str", b"\xff\xfe")))
case("keys", "no architecture", lambda shards: shards[0].drop_key("general.architecture"), says="architecture")
case("keys", "an unknown architecture", keyed(1, "general.architecture", "str", "nonesuch"), says="architecture|nonesuch")
case("keys", "architecture as a number", keyed(1, "general.architecture", "u32", 1), says="architecture")
case("keys", "a key type of 13", after=patch(2, b"split.count\x02\0\0\0", b"split.count\x0d\0\0\0"), says="type of")
case("keys", "a key length of 2^62", after=patch(2, b"\x0b\0\0\0\0\0\0\0split.count", b"\0\0\0\0\0\0\0\x40split.count"), says="length")
for name in ("block_count", "embedding_length", "context_length", "feed_forward_length", "attention.head_count",
             "attention.head_count_kv", "expert_count", "expert_used_count", "attention.key_length", "expert_feed_forward_length",
             "vocab_size"):  # fmt: skip
    key = f"qwen3moe.{name}"
    case("hyperparameters", f"{name} missing", lambda shards, key=key: shards[0].drop_key(key), says=name)
    for value in (0, 1, 3, 5, 1000, 2**31, 2**32 - 1):
        case("hyperparameters", f"{name} {value}", keyed(1, key, "u32", value), says=f"{name}|compute buffers|layers have no tensors",
             because=LEDGER if name == "feed_forward_length" and value >= 2**31 else "")  # fmt: skip
    case("hyperparameters", f"{name} as text", keyed(1, key, "str", "4"), says=name)
    case("hyperparameters", f"{name} as u64", keyed(1, key, "u64", 4), says=f"{name}|layers have no tensors")

case("bytes", "one bit of a weight", after=edit(2, lambda header, raw: _flip(raw, header.need_bytes - 9)))
case("bytes", "a megabyte's worth of zeros in the data", after=edit(2, lambda header, raw: _zero(raw, header)))
case("bytes", "NaN in every scale of the experts", lambda shards: _scales(shards, b"\xff\x7e"), only_hash=True)
case("bytes", "infinity in every scale of the experts", lambda shards: _scales(shards, b"\x00\x7c"), only_hash=True)
case("bytes", "NaN in a norm", tensor(2, "blk.1.ffn_norm", data=b"\x00\x00\xc0\x7f" * 64), only_hash=True)
case("bytes", "random padding before the data", after=edit(2, lambda header, raw: _fill(raw, header)))
case("bytes", "junk behind the data", after=lambda folder: _append(folder / SECOND, b"junk" * 100))
case("bytes", "another shard behind the data", after=lambda folder: _append(folder / SECOND, (folder / name_of(3)).read_bytes()))
case("bytes", "a hole in the place of all data", after=lambda folder: _hole(folder / SECOND), says="never written",
     because="a download that reserved its space and never wrote it")  # fmt: skip
case("bytes", "a control file of aria2 beside shard 2", after=lambda folder: (folder / f"{SECOND}.aria2").write_bytes(b"x"),
     says="not finished", because="aria2 keeps this file for as long as the download is not finished")  # fmt: skip


def _add(shards, name):
    shards[1].tensors.append(Tensor(name, (32, 4)))
    _recount(shards)


def _remove(shards, part):
    shard = next(shard for shard in shards if any(part in one.name for one in shard.tensors))
    del shard.tensors[shard.index(part)]
    _recount(shards)


def _recount(shards):
    total = sum(len(shard.tensors) for shard in shards)
    for shard in shards:
        shard.set_key("split.tensors.count", "i32", total)


def _place(tensors, index):
    return sum(-(-len(one.data) // 32) * 32 for one in tensors[:index])


def _offset(shards, index, by):
    tensors = shards[1].tensors
    tensors[index] = replace(tensors[index], offset=_place(tensors, index) + by)


def _offset_same(shards):
    tensors = shards[1].tensors
    tensors[3] = replace(tensors[3], offset=_place(tensors, 2))


def _reorder(shards):
    tensors = shards[1].tensors
    tensors[2], tensors[3] = (
        replace(tensors[3], offset=_place(tensors, 3), data=tensors[2].data),
        replace(tensors[2], offset=_place(tensors, 2), data=tensors[3].data),
    )


def _align(shards, value):
    for shard in shards:
        shard.set_key("general.alignment", "u32", value)
        shard.options["alignment"] = value


def _retype(shards, part, type_id):
    shard = next(shard for shard in shards if any(part in one.name for one in shard.tensors))
    index = shard.index(part)
    kind = TENSOR_TYPES.get(type_id)
    weights, size = (kind.block_weights, kind.block_bytes) if kind else (1, 1)
    shard.tensors[index] = quantise(shard.tensors[index], type_id, weights, size)


def _last_dims(shards, dims):
    shards[1].tensors[-1] = replace(shards[1].tensors[-1], dims=dims)


def _reshape(shards, part, dims):
    shard = next(shard for shard in shards if any(part in one.name for one in shard.tensors))
    index = shard.index(part)
    old = shard.tensors[index]
    kind = TENSOR_TYPES[old.type_id]
    shard.tensors[index] = quantise(replace(old, dims=dims), old.type_id, kind.block_weights, kind.block_bytes)


def _flip(raw, at):
    raw[at] ^= 1


def _zero(raw, header):
    raw[header.data_start_bytes :] = bytes(len(raw) - header.data_start_bytes)


def _fill(raw, header):
    raw[header.header_bytes : header.data_start_bytes] = b"\xa5" * (header.data_start_bytes - header.header_bytes)


def _scales(shards, scale):
    shard = shards[1]
    for index, one in enumerate(shard.tensors):
        if "_exps" in one.name:
            parts = (scale + one.data[at + 2 : at + 34] for at in range(0, len(one.data), 34))
            shard.tensors[index] = replace(one, data=b"".join(parts))


def _append(path, raw):
    with path.open("ab") as file:
        file.write(raw)


def _hole(path):
    raw, header = path.read_bytes(), read_header(path)
    with path.open("wb") as file:
        file.write(raw[: header.data_start_bytes])
        file.truncate(len(raw))
