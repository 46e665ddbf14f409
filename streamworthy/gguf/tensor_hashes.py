"""Hashes each tensor of a shard, in one pass over the file, and holds them against a manifest of gguf-hash."""

from __future__ import annotations

import hashlib
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from streamworthy.errors import ProbeError
from streamworthy.facts.integrity import TensorHashes, WrongTensor
from streamworthy.gguf.tensor_stream import TensorCutter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from streamworthy.facts.gguf import HeaderFacts, TensorFacts
    from streamworthy.facts.integrity import ExpectedTensors, FileHash

PREFIX = "tensors "  # of an algorithm: hash the tensors one by one, and all of them together


class _Hash(Protocol):
    def update(self, data: memoryview, /) -> None:
        """Take more bytes."""

    def hexdigest(self) -> str:
        """Give the digest so far."""


def can_hash(algorithm: str) -> bool:
    """Tell whether an algorithm is there: xxh64 is in a package of its own."""
    try:
        _new(algorithm)
    except ImportError:
        return False
    return True


def _new(algorithm: str) -> _Hash:
    if algorithm == "xxh64":
        found: _Hash = import_module("xxhash").xxh64()
        return found
    return hashlib.new(algorithm, usedforsecurity=False)


class TensorsHash:
    """Takes a file's pieces in order; the digest is those of all tensors and of all together, with commas."""

    def __init__(self, algorithm: str, header: HeaderFacts) -> None:
        """Begin at the start of the file."""
        self._cutter = TensorCutter(header)
        self._hashes = {tensor.name: _new(algorithm) for tensor in _in_file_order(header)}
        self._whole = _new(algorithm)

    def update(self, piece: memoryview) -> None:
        """Take the next piece of the file."""
        for tensor, _, part in self._cutter.cut(piece):
            self._hashes[tensor.name].update(part)
            self._whole.update(part)

    def hexdigest(self) -> str:
        """Give all digests in the order of the file."""
        return ",".join(one.hexdigest() for one in (*self._hashes.values(), self._whole))


def _in_file_order(header: HeaderFacts) -> list[TensorFacts]:
    return sorted(header.tensors, key=lambda tensor: tensor.offset_bytes)


def named_digests(header: HeaderFacts, digest: str) -> tuple[dict[str, str], str]:
    """Take such a digest apart: by the tensor's name, and of all together. ProbeError when it is of another file."""
    *parts, whole = digest.split(",")
    names = [tensor.name for tensor in _in_file_order(header)]
    if len(parts) != len(set(names)):
        raise ProbeError("its tensors have no names of their own", fix="see the gate shards.headers")
    return dict(zip(dict.fromkeys(names), parts, strict=True)), whole


def compare(expected: ExpectedTensors, header: HeaderFacts, found: FileHash) -> TensorHashes:
    """Hold the tensors of one shard against what a manifest says of them."""
    digests, whole = named_digests(header, found.digest)
    told = dict(expected.digests)
    wrong = tuple(_wrong(header, told, digests))
    alone = not told and bool(expected.whole)
    return TensorHashes(
        expected=expected,
        matching_count=len(digests) if alone else sum(digests.get(name) == digest for name, digest in told.items()),
        wrong=wrong,
        missing=tuple(name for name in told if name not in digests),
        unlisted=() if expected.whole else tuple(name for name in digests if name not in told),
        whole_differs=bool(expected.whole) and whole != expected.whole,
        hashed_at=found.hashed_at,
        stored=found.stored,
    )


def _wrong(header: HeaderFacts, told: dict[str, str], digests: dict[str, str]) -> Iterator[WrongTensor]:
    for tensor in _in_file_order(header):
        expected = told.get(tensor.name)
        if expected is not None and expected != digests[tensor.name]:
            yield WrongTensor(
                name=tensor.name,
                offset_bytes=header.data_start_bytes + tensor.offset_bytes,
                size_bytes=tensor.size_bytes,
                expected=expected,
                found=digests[tensor.name],
            )


def in_table_order(header: HeaderFacts, digests: dict[str, str]) -> Iterable[tuple[str, str]]:
    """Give name and digest of each tensor as gguf-hash lists them."""
    return ((tensor.name, digests[tensor.name]) for tensor in header.tensors)
