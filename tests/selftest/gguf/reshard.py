"""Splits a GGUF file into shards as llama-gguf-split does: all keys in the first, split.* keys in each."""

from __future__ import annotations

import struct

from streamworthy.gguf.names import engine_name
from streamworthy.gguf.reader import read_header
from tests.selftest.gguf.build import text, value_of

HEAD = struct.Struct("<4sIQQ")


def reshard(source, folder, count, *, prefix="model"):
    """Write ``count`` shards with as equal numbers of tensors as can be; give their paths."""
    header = read_header(source)
    raw = source.read_bytes()
    _, version, _, key_count = HEAD.unpack_from(raw)
    keys = raw[HEAD.size : header.header_bytes - sum(len(_entry(tensor, 0)) for tensor in header.tensors)]
    paths = []
    for number in range(count):
        begin, end = (len(header.tensors) * part // count for part in (number, number + 1))
        part = header.tensors[begin:end]
        own = (key_count, keys) if number == 0 else (0, b"")
        split = _split_keys(number, count, len(header.tensors))
        paths.append(folder / engine_name(prefix, number + 1, count))
        head = HEAD.pack(b"GGUF", version, len(part), own[0] + 3) + own[1] + split
        paths[-1].write_bytes(_shard(head, part, raw, header))
    return paths


def _split_keys(number, count, tensors):
    keys = (("split.no", "u16", number), ("split.count", "u16", count), ("split.tensors.count", "i32", tensors))
    return b"".join(text(name) + value_of(kind, value) for name, kind, value in keys)


def _entry(tensor, offset):
    dims = struct.pack(f"<I{len(tensor.dims)}Q", len(tensor.dims), *tensor.dims)
    return text(tensor.name) + dims + struct.pack("<IQ", tensor.type_id, offset)


def _shard(head, tensors, raw, header):
    table, data = b"", b""
    align = header.alignment_bytes
    for tensor in tensors:
        table += _entry(tensor, len(data))
        begin = header.data_start_bytes + tensor.offset_bytes
        data += raw[begin : begin + tensor.size_bytes]
        data += bytes(-len(data) % align)
    out = head + table
    return out + bytes(-len(out) % align) + data if tensors else out
