"""The places that a sample looks at: whole blocks, inside of their tensors, every stride, the same each time."""

import pytest

from streamworthy.facts.gguf import HeaderFacts, TensorFacts
from streamworthy.gguf.tensor_sample import LEAST_PLACES, PLACE_BYTES, plan_places
from streamworthy.gguf.tensor_types import TENSOR_TYPES

MIB = 2**20
Q6_K = TENSOR_TYPES[14]


def header(*tensors, file_bytes=None):
    """Give a header with tensors of (name, rows, type) with 1024 weights a row, one after the other."""
    facts, end = [], 0
    for name, rows, type_id in tensors:
        kind = TENSOR_TYPES.get(type_id)
        size = kind.row_bytes(1024 * rows) if kind else 4096 * rows
        facts.append(
            TensorFacts(
                name=name,
                dims=(1024, rows),
                type_id=type_id,
                type_name=kind.name if kind else f"type {type_id}",
                offset_bytes=end,
                size_bytes=size,
            )
        )
        end += size
    return HeaderFacts(
        version=3,
        keys={},
        key_types={},
        tensors=tuple(facts),
        alignment_bytes=32,
        header_bytes=960,
        data_start_bytes=960,
        file_bytes=960 + end if file_bytes is None else file_bytes,
    )


def test_a_large_tensor_is_looked_at_in_every_stride():
    """Each part of a stride's size has one place, of whole blocks, and none is cut by the tensor's end."""
    found = list(plan_places(header(("a", 200_000, 14)), 4 * MIB))
    size = 200_000 * 840
    assert len(found) == -(-size // (4 * MIB))
    part = size / len(found)
    for index, place in enumerate(found):
        inside = place.offset_bytes - 960
        assert index * part - Q6_K.block_bytes <= inside
        assert inside + place.size_bytes <= (index + 1) * part + Q6_K.block_bytes
        assert inside % Q6_K.block_bytes == 0
        assert place.size_bytes == PLACE_BYTES // Q6_K.block_bytes * Q6_K.block_bytes
    assert [place.first for place in found] == [True] + [False] * (len(found) - 1)


def test_a_tensor_below_a_stride_is_looked_at_in_eight_places():
    """The least for each tensor, which is 624 blocks of the largest kind of block."""
    found = list(plan_places(header(("a", 2_000, 14)), 4 * MIB))
    assert len(found) == LEAST_PLACES
    assert sum(place.size_bytes for place in found) // Q6_K.block_bytes == 624


def test_a_small_tensor_is_looked_at_whole():
    """Norms and biases cost one read."""
    found = list(plan_places(header(("a", 1, 0), ("b", 20, 0)), 4 * MIB))
    assert [(place.tensor.name, place.size_bytes) for place in found] == [("a", 4096)] + [("b", 16384)] * 5
    assert [place.offset_bytes for place in found][1:] == [960 + 4096 + 16384 * index for index in range(5)]


def test_places_are_the_same_each_time_and_differ_between_tensors():
    """Two tensors of one shape are not looked at in the same places."""
    shard = header(("a", 20_000, 8), ("b", 20_000, 8))
    found = list(plan_places(shard, 4 * MIB))
    assert found == list(plan_places(shard, 4 * MIB))
    first = [place.offset_bytes - 960 for place in found if place.tensor.name == "a"]
    second = [place.offset_bytes - 960 - 20_000 * 1088 for place in found if place.tensor.name == "b"]
    assert len(first) == len(second) == LEAST_PLACES
    assert not set(first) & set(second)


@pytest.mark.parametrize(("file_bytes", "places"), [(960, 0), (960 + 209, 0), (960 + 210, 1), (960 + 16_380, 1)])
def test_nothing_is_looked_at_behind_the_end_of_the_file(file_bytes, places):
    """A download that was cut has its whole blocks looked at."""
    found = list(plan_places(header(("a", 2_000, 14), file_bytes=file_bytes), 4 * MIB))
    assert len(found) == places
    assert all(place.offset_bytes + place.size_bytes <= file_bytes for place in found)


def test_a_type_without_a_known_layout_is_passed_over():
    """It is listed by the scan."""
    assert list(plan_places(header(("a", 2_000, 156)), 4 * MIB)) == []
