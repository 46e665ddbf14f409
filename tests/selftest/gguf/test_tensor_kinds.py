"""Kinds of tensors: every one is counted once, and where it lies."""

import pytest

from streamworthy.errors import ProbeError
from streamworthy.facts.tensor_kinds import EVERY_TOKEN, KindSizes, TensorKind, TensorPlace
from streamworthy.gguf.reader import read_header
from streamworthy.gguf.subject import Subject
from streamworthy.gguf.tensor_kinds import layer_of, measure_kinds, place_tensors
from tests.selftest.gguf import tiny
from tests.selftest.gguf.build import F16, F32, Q4_0, Q8_0
from tests.selftest.gguf.moe_files import EXPERTS, LAYERS, WIDTH, WORDS, size_of, write_model, write_shards


def measured(path):
    """Measure a file's kinds, by kind."""
    return {one.kind: one for one in measure_kinds(Subject(path).metadata, [read_header(path)])}


def test_each_tensor_counts_for_its_kind(tmp_path):
    """All six kinds, with their tensors, weights and bytes."""
    found = measured(write_model(tmp_path))
    square, router, bank = (WIDTH, WIDTH), (WIDTH, EXPERTS), (WIDTH, WIDTH, EXPERTS)
    assert found[TensorKind.DENSE] == KindSizes(
        kind=TensorKind.DENSE,
        tensor_count=1 + 2 * LAYERS,
        parameter_count=WIDTH + LAYERS * (WIDTH * WIDTH + WIDTH * EXPERTS),
        size_bytes=4 * WIDTH + LAYERS * (size_of(square, Q8_0) + size_of(router, F32)),
        type_bytes=(("Q8_0", LAYERS * size_of(square, Q8_0)), ("F32", 4 * WIDTH + LAYERS * size_of(router, F32))),
    )
    assert found[TensorKind.SHARED].size_bytes == LAYERS * size_of(square, Q8_0)
    assert found[TensorKind.OUTPUT].size_bytes == size_of((WIDTH, WORDS), Q8_0)
    assert found[TensorKind.EMBEDDING].size_bytes == size_of((WIDTH, WORDS), F16)
    assert found[TensorKind.ROUTED].size_bytes == LAYERS * 2 * size_of(bank, Q4_0)
    assert found[TensorKind.UNUSED].tensor_count == 5


def test_bits_per_weight_count_the_scales(tmp_path):
    """Q4_0 has 18 bytes for 32 weights, Q8_0 34."""
    found = measured(write_model(tmp_path))
    assert found[TensorKind.ROUTED].bits_per_weight == 4.5
    assert found[TensorKind.SHARED].bits_per_weight == 8.5


@pytest.mark.parametrize("make", [write_model, *tiny.MODELS.values()], ids=["moe", *tiny.MODELS])
def test_kinds_agree_with_the_sizes_of_the_gates(tmp_path, make):
    """The two ways in which tensors are sorted give the same bytes, for several architectures."""
    path = tmp_path / "moe.gguf"
    if make is write_model:
        make(tmp_path)
    else:
        path.write_bytes(make())
    found, sizes = measured(path), Subject(path).sizes
    assert sum(one.size_bytes for one in found.values()) == sizes.total_bytes
    assert sum(one.parameter_count for one in found.values()) == sizes.parameter_count
    assert sum(found[kind].size_bytes for kind in EVERY_TOKEN if kind in found) == sizes.dense_bytes
    routed = found[TensorKind.ROUTED].size_bytes if TensorKind.ROUTED in found else 0
    assert routed == sizes.expert_bytes


def test_an_embedding_without_an_output_matrix_is_the_output(tmp_path):
    """It is then read whole for every token."""
    found = measured(write_model(tmp_path, drop=("output.weight",)))
    assert TensorKind.EMBEDDING not in found
    assert found[TensorKind.OUTPUT].size_bytes == size_of((WIDTH, WORDS), F16)


def test_places_are_where_the_bytes_are(tmp_path):
    """Each tensor of the writer is filled with a number of its own, which is found at its place."""
    path = write_model(tmp_path)
    raw = path.read_bytes()
    places = place_tensors(Subject(path).metadata, {path: read_header(path)})
    assert len(places) == 3 + 5 * (LAYERS + 1)
    for number, place in enumerate(places):
        assert set(raw[place.offset_bytes : place.offset_bytes + place.size_bytes]) == {number + 1}
    assert places[5].layer == 0
    assert places[5].kind is TensorKind.ROUTED


def test_a_cut_file_has_the_places_that_it_holds(tmp_path):
    """The tensor in which the file ends is there in part, those behind it not at all."""
    path = write_model(tmp_path)
    header = read_header(path)
    end = header.data_start_bytes + header.tensors[1].offset_bytes + 100
    with path.open("r+b") as file:
        file.truncate(end)
    places = place_tensors(Subject(path).metadata, {path: Subject(path).headers[0].header})
    assert places[1:] == (
        TensorPlace(path=path, offset_bytes=end - 100, size_bytes=100, kind=TensorKind.EMBEDDING, layer=None),
    )


def test_shards_give_the_same_kinds_as_the_whole(tmp_path):
    """Where a set is cut changes nothing."""
    whole = measured(write_model(tmp_path))
    paths = write_shards(tmp_path)
    headers = [read_header(path) for path in paths]
    assert {one.kind: one for one in measure_kinds(Subject(paths[0]).metadata, headers)} == whole


def test_layers_are_read_from_names():
    """Only tensors of blocks have one."""
    assert [layer_of(name) for name in ("blk.12.attn_q.weight", "output.weight", "v.blk.3.x")] == [12, None, None]


def test_keys_that_are_not_usable_are_an_error(tmp_path):
    """Without a number of layers nothing can be sorted."""
    path = tmp_path / "moe.gguf"
    path.write_bytes(tiny.build((("general.architecture", "str", "qwen3moe"),)))
    with pytest.raises(ProbeError, match="block_count"):
        measured(path)
