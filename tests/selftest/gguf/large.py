"""A model of some megabytes with tensors of several types, whose data can be damaged by tensor and row."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from streamworthy.gguf.reader import read_header
from streamworthy.gguf.scales import EXPONENTS
from streamworthy.gguf.tensor_types import TENSOR_TYPES, type_named
from tests.selftest.gguf.build import Tensor, build

IDS = {kind.name: number for number, kind in TENSOR_TYPES.items()}
WIDTH = 2048
SHAPES = (
    ("token_embd.weight", (WIDTH, 1000), "F16"),
    ("blk.0.attn_norm.weight", (WIDTH,), "F32"),
    ("blk.0.attn_q.weight", (WIDTH, 1024), "Q4_K"),
    ("blk.0.attn_k.weight", (WIDTH, 512), "Q6_K"),
    ("blk.0.attn_q.bias", (1024,), "F32"),
    ("blk.0.attn_output.weight", (WIDTH, 1024), "Q8_0"),
    ("blk.0.ffn_norm.weight", (WIDTH,), "F32"),
    ("blk.0.ffn_gate_exps.weight", (WIDTH, 256, 8), "MXFP4"),
    ("blk.0.ffn_up_exps.weight", (WIDTH, 256, 8), "IQ1_M"),
    ("output.weight", (WIDTH, 1000), "BF16"),
)


def sound_blocks(name, weights, seed):
    """Give random blocks of a type in which no exponent is full."""
    kind = type_named(name)
    rng = np.random.default_rng(seed)
    raw = rng.integers(1, 255, size=(weights // kind.block_weights, kind.block_bytes), dtype=np.uint8)
    for exponent in EXPONENTS[name]:
        place, mask = exponent[0]
        raw[:, place] &= 255 - (mask & -mask)
    return raw


@dataclass
class Large:
    """The model's file, and where its tensors lie in it."""

    path: object
    raw: bytearray
    header: object

    def place(self, name):
        """Give where a tensor's data lie in the file."""
        tensor = next(one for one in self.header.tensors if one.name == name)
        start = self.header.data_start_bytes + tensor.offset_bytes
        return range(start, start + tensor.size_bytes)

    def row(self, name, number):
        """Give where a row of a tensor begins in the file."""
        tensor = next(one for one in self.header.tensors if one.name == name)
        return self.place(name).start + number * type_named(tensor.type_name).row_bytes(tensor.dims[0])

    def put(self, offset, data):
        """Write bytes into the data."""
        self.raw[offset : offset + len(data)] = data

    def zero(self, start, stop):
        """Write zeros over a range."""
        self.put(start, bytes(stop - start))

    def poison(self, name, block):
        """Fill the exponents of one block."""
        kind = type_named({one.name: one.type_name for one in self.header.tensors}[name])
        start = self.place(name).start + block * kind.block_bytes
        for place, mask in EXPONENTS[kind.name][-1]:
            self.raw[start + place] |= mask
        return start

    def write(self, *, durable=False):
        """Write the file; ``durable``: to the disk, so that it can be dropped from memory."""
        with self.path.open("wb") as file:
            file.write(self.raw)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        return {self.path: self.header}


def make_large(path, shapes=SHAPES):
    """Make the sound model."""
    tensors = []
    for number, (name, dims, kind) in enumerate(shapes):
        data = sound_blocks(kind, int(np.prod(dims)), number).tobytes()
        tensors.append(Tensor(name, dims, IDS[kind], data))
    raw = build(tensors=tensors)
    path.write_bytes(raw)
    return Large(path, bytearray(raw), read_header(path))
