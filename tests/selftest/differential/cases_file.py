"""Mutations of single files: truncation, layout, counts, versions, what is no GGUF, and bytes."""

from __future__ import annotations

import struct

from tests.selftest.differential.case import case, name_of
from tests.selftest.differential.changes import (
    align,
    append,
    cut,
    edit,
    fill,
    flip,
    hole,
    keyed,
    offset,
    offset_same,
    option,
    reorder,
    scales,
    tensor,
    zero,
)

SECOND = name_of(2)


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
        case(
            "cut",
            f"shard {number}: {label}",
            after=cut(number, where),
            says="missing|end of the file|0 bytes|cut short|room",
        )
case("cut", "final padding alone", after=cut(3, lambda header: header.need_bytes))

for label, change in {
    "first offset is not 0": tensor(2, "blk.1", offset=32),
    "an offset that is not aligned": lambda shards: offset(shards, 3, +4),
    "a gap": lambda shards: offset(shards, 3, +32),
    "inside of the one before": lambda shards: offset(shards, 3, -32),
    "the same as the one before": offset_same,
    "far behind the file": lambda shards: offset(shards, 3, 2**40),
    "near 2^64": lambda shards: offset(shards, 3, 2**64 - 2**20),
}.items():
    case("layout", label, change, says="offset of tensor")
case("layout", "the table in another order", reorder, says="offset of tensor")
for value in (0, 1, 2, 3, 8, 16, 24, 64, 128, 4096, 2**16, 2**31):
    case(
        "layout",
        f"alignment {value} said",
        keyed(1, "general.alignment", "u32", value),
        says="alignment|offset|missing|cut",
    )
    case(
        "layout",
        f"alignment {value} said in shard 2",
        keyed(2, "general.alignment", "u32", value),
        says="alignment|offset|missing|cut",
    )
    if 0 < value < 2**20:
        case(
            "layout",
            f"alignment {value} said and kept",
            lambda shards, value=value: align(shards, value),
            says="alignment",
        )
for kind in ("u64", "i32", "u16", "str"):
    value = "32" if kind == "str" else 32
    case("layout", f"alignment as {kind}", keyed(1, "general.alignment", kind, value), says="alignment")

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
    case(
        "version",
        f"{version} in all",
        lambda s, v=version: [one.options.update(version=v) for one in s],
        says="version",
    )
case("version", "big-endian shard 2", option(2, order=">"), says="big-endian")
case(
    "version", "big-endian set", lambda shards: [shard.options.update(order=">") for shard in shards], says="big-endian"
)
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
        case(
            "strangers",
            f"shard {number} is {label}",
            after=lambda folder, n=number, raw=raw: (folder / name_of(n)).write_bytes(raw),
            says="GGJT" if "ggml" in label else label.split()[-1].removesuffix("s"),
        )

case("bytes", "one bit of a weight", after=edit(2, lambda header, raw: flip(raw, header.need_bytes - 9)))
case(
    "bytes",
    "zeros in the place of all data",
    after=edit(2, lambda header, raw: zero(raw, header)),
    says="of zeros over 8 matrices",
    because="a download that reserved its space and never wrote it",
)
case("bytes", "NaN in every scale of the experts", lambda shards: scales(shards, b"\xff\x7e"), says="NaN or infinity")
case(
    "bytes",
    "infinity in every scale of the experts",
    lambda shards: scales(shards, b"\x00\x7c"),
    says="NaN or infinity",
)
case("bytes", "NaN in a norm", tensor(2, "blk.1.ffn_norm", data=b"\x00\x00\xc0\x7f" * 64), says="NaN or infinity")
case("bytes", "random padding before the data", after=edit(2, lambda header, raw: fill(raw, header)))
case("bytes", "junk behind the data", after=lambda folder: append(folder / SECOND, b"junk" * 100))
case(
    "bytes",
    "another shard behind the data",
    after=lambda folder: append(folder / SECOND, (folder / name_of(3)).read_bytes()),
)
case(
    "bytes",
    "a hole in the place of all data",
    after=lambda folder: hole(folder / SECOND),
    says="never written",
    because="a download that reserved its space and never wrote it",
)
case(
    "bytes",
    "a control file of aria2 beside shard 2",
    after=lambda folder: (folder / f"{SECOND}.aria2").write_bytes(b"x"),
    says="not finished",
    because="aria2 keeps this file for as long as the download is not finished",
)
