"""Which bytes are read."""

from __future__ import annotations

import os
import random

import pytest

from streamworthy.bench.places import SEQUENTIAL_BYTES, find_slabs, stretches
from streamworthy.gguf.subject import Subject
from tests.selftest.gguf.moe_files import EXPERTS, KEYS, LAYERS, write_model

CHOOSER = random.Random(1)  # noqa: S311 - places, not secrets
SLAB = 256 * 256 // 32 * 18


@pytest.fixture
def shards(tmp_path):
    """Two files of 12 and 8 MiB, and one that holds no whole MiB."""
    paths = [tmp_path / name for name in "abc"]
    for path, size in zip(paths, (12 * 2**20 + 5, 8 * 2**20, 2**20 - 1), strict=True):
        path.touch()
        os.truncate(path, size)
    return paths


def test_stretches_lie_apart_and_in_order(shards):
    """Four parts of 20 MiB: 3 MiB of each, one after another, none twice."""
    found = stretches(shards, 4, 3 * 2**20, CHOOSER)
    assert [len(part) for part in found] == [3] * 4
    numbers = [
        [piece.offset_bytes // SEQUENTIAL_BYTES + 12 * (piece.path == shards[1]) for piece in part] for part in found
    ]
    for number, part in enumerate(numbers):
        assert part == list(range(part[0], part[0] + 3))
        assert number * 5 <= part[0] <= number * 5 + 2


def test_small_files_are_read_whole(shards):
    """A limit above a part's size takes all of it."""
    found = stretches(shards, 2, 2**40, CHOOSER)
    assert [len(part) for part in found] == [10, 10]


def test_slabs_are_the_experts_parts_of_routed_tensors(tmp_path):
    """Two routed tensors in each layer that is used, eight experts each, one behind the other."""
    path = write_model(tmp_path)
    found = find_slabs(Subject(path))
    assert list(found) == [SLAB]
    assert len(found[SLAB]) == LAYERS * 2 * EXPERTS
    first = found[SLAB][:EXPERTS]
    assert [piece.offset_bytes - first[0].offset_bytes for piece in first] == [n * SLAB for n in range(EXPERTS)]
    data = path.read_bytes()
    assert all(len(set(data[p.offset_bytes : p.offset_bytes + SLAB])) == 1 for p in found[SLAB])


def test_a_dense_model_has_none(tmp_path):
    """Without experts no tensor is cut into slabs."""
    keys = tuple(key for key in KEYS if "expert" not in key[0])
    assert find_slabs(Subject(write_model(tmp_path, keys=keys))) == {}
