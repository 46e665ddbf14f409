"""The changes that cases are made of: of keys, table entries, data and files."""

from __future__ import annotations

import os
from dataclasses import replace

from streamworthy.gguf.reader import read_header
from streamworthy.gguf.tensor_types import TENSOR_TYPES
from tests.selftest.differential.case import name_of
from tests.selftest.differential.model import quantise
from tests.selftest.gguf.build import Tensor


def keyed(number, name, kind, value):
    """Change one key of one shard."""
    return lambda shards: shards[number - 1].set_key(name, kind, value)


def dropped(number, name):
    """Leave out one key of one shard."""
    return lambda shards: shards[number - 1].drop_key(name)


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


def add(shards, name):
    """Add a tensor that the engine does not know."""
    shards[1].tensors.append(Tensor(name, (32, 4)))
    recount(shards)


def remove(shards, part):
    """Leave a tensor out and count again."""
    shard = next(shard for shard in shards if any(part in one.name for one in shard.tensors))
    del shard.tensors[shard.index(part)]
    recount(shards)


def recount(shards):
    """Write how many tensors there are."""
    total = sum(len(shard.tensors) for shard in shards)
    for shard in shards:
        shard.set_key("split.tensors.count", "i32", total)


def place(tensors, index):
    """Give where a tensor lies."""
    return sum(-(-len(one.data) // 32) * 32 for one in tensors[:index])


def offset(shards, index, by):
    """Move the offset of a tensor in shard 2."""
    tensors = shards[1].tensors
    tensors[index] = replace(tensors[index], offset=place(tensors, index) + by)


def offset_same(shards):
    """Give two tensors one place."""
    tensors = shards[1].tensors
    tensors[3] = replace(tensors[3], offset=place(tensors, 2))


def reorder(shards):
    """Write two entries of a table in the other order."""
    tensors = shards[1].tensors
    tensors[2], tensors[3] = (
        replace(tensors[3], offset=place(tensors, 3), data=tensors[2].data),
        replace(tensors[2], offset=place(tensors, 2), data=tensors[3].data),
    )


def align(shards, value):
    """Say an alignment in all shards and keep it."""
    for shard in shards:
        shard.set_key("general.alignment", "u32", value)
        shard.options["alignment"] = value


def retype(shards, part, type_id):
    """Give a tensor another type and data to match."""
    shard = next(shard for shard in shards if any(part in one.name for one in shard.tensors))
    index = shard.index(part)
    kind = TENSOR_TYPES.get(type_id)
    weights, size = (kind.block_weights, kind.block_bytes) if kind else (1, 1)
    shard.tensors[index] = quantise(shard.tensors[index], type_id, weights, size)


def last_dims(shards, dims):
    """Change the shape of the last tensor of shard 2."""
    shards[1].tensors[-1] = replace(shards[1].tensors[-1], dims=dims)


def reshape(shards, part, dims):
    """Give a tensor another shape and data to match."""
    shard = next(shard for shard in shards if any(part in one.name for one in shard.tensors))
    index = shard.index(part)
    old = shard.tensors[index]
    kind = TENSOR_TYPES[old.type_id]
    shard.tensors[index] = quantise(replace(old, dims=dims), old.type_id, kind.block_weights, kind.block_bytes)


def flip(raw, at):
    """Flip a bit."""
    raw[at] ^= 1


def zero(raw, header):
    """Write zeros over all data."""
    raw[header.data_start_bytes :] = bytes(len(raw) - header.data_start_bytes)


def fill(raw, header):
    """Write into the padding before the data."""
    raw[header.header_bytes : header.data_start_bytes] = b"\xa5" * (header.data_start_bytes - header.header_bytes)


def scales(shards, scale):
    """Give all experts of shard 2 another scale."""
    shard = shards[1]
    for index, one in enumerate(shard.tensors):
        if "_exps" in one.name:
            parts = (scale + one.data[at + 2 : at + 34] for at in range(0, len(one.data), 34))
            shard.tensors[index] = replace(one, data=b"".join(parts))


def append(path, raw):
    """Add bytes to a file."""
    with path.open("ab") as file:
        file.write(raw)


def hole(path):
    """Write a file's header and leave the rest unwritten."""
    raw, header = path.read_bytes(), read_header(path)
    with path.open("wb") as file:
        file.write(raw[: header.data_start_bytes])
        file.truncate(len(raw))


def to_blobs(folder):
    """Move the shards behind links, as a Hugging Face cache has them."""
    (folder / "blobs").mkdir()
    for number, letter in enumerate("abc", 1):
        (folder / name_of(number)).rename(folder / "blobs" / (letter * 64))
        (folder / name_of(number)).symlink_to(f"blobs/{letter * 64}")
