"""The map of a model's residency, on real files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

from streamworthy.bench.evict import evict
from streamworthy.bench.page_cache import METHODS
from streamworthy.bench.residency_map import add_up, map_cache, residency_of
from streamworthy.errors import ProbeError
from streamworthy.facts.cache import CacheMap, LayerCache, RangeResidency, ShardCache
from streamworthy.facts.tensor_kinds import TensorKind, TensorPlace
from tests.selftest.bench.disk_file import SIZE, make_disk_file

MIB = 2**20


def part(resident, total):
    """Make a residency without evictions."""
    return RangeResidency(resident_bytes=resident, total_bytes=total, evicted_bytes=0)


def place(path, number, kind, layer):
    """Give the tensor that lies in one MiB of a file."""
    return TensorPlace(path=path, offset_bytes=number * MIB, size_bytes=MIB, kind=kind, layer=layer)


@pytest.fixture
def model(tmp_path):
    """Make two files of four tensors each; the first file is resident, the second cold."""
    paths = [make_disk_file(tmp_path, name) for name in ("a", "b")]
    evict([paths[1]])
    first, second = paths
    places = [
        place(first, 0, TensorKind.OUTPUT, None),
        place(first, 1, TensorKind.DENSE, 0),
        place(first, 2, TensorKind.ROUTED, 0),
        place(first, 3, TensorKind.ROUTED, 1),
        place(second, 0, TensorKind.ROUTED, 1),
        place(second, 1, TensorKind.SHARED, 1),
        place(second, 2, TensorKind.DENSE, 1),
        place(second, 3, TensorKind.UNUSED, 2),
    ]
    return paths, places


def test_the_map_adds_up_shards_kinds_and_layers(model):
    """Every byte stands once in each of the three tables; layers that plain decoding skips are in none."""
    paths, places = model
    assert map_cache(paths, places) == CacheMap(
        shards=(
            ShardCache(name="a", whole=part(SIZE, SIZE), method="cachestat"),
            ShardCache(name="b", whole=part(0, SIZE), method="cachestat"),
        ),
        kinds=(
            (TensorKind.DENSE, part(MIB, 2 * MIB)),
            (TensorKind.SHARED, part(0, MIB)),
            (TensorKind.OUTPUT, part(MIB, MIB)),
            (TensorKind.ROUTED, part(2 * MIB, 3 * MIB)),
            (TensorKind.UNUSED, part(0, MIB)),
        ),
        layers=(
            LayerCache(layer=0, every_token=part(MIB, MIB), experts=part(MIB, MIB)),
            LayerCache(layer=1, every_token=part(0, 2 * MIB), experts=part(MIB, 2 * MIB)),
        ),
        layout_unknown="",
        sampled=False,
    )


def test_a_sample_says_that_it_is_one(model):
    """For a stranger shares are estimates; here of files that are all or nothing, so nearly exact."""
    paths, places = model
    found = map_cache(paths, places, without=METHODS[:2])
    assert found.sampled
    assert found.shards[0].whole.resident_bytes == SIZE
    assert found.shards[1].whole.resident_bytes < SIZE // 10


def test_without_a_layout_shards_are_told(model):
    """Why there are no kinds is kept."""
    found = map_cache(model[0], (), layout_unknown="not a model")
    assert (found.kinds, found.layers, found.layout_unknown) == ((), (), "not a model")
    assert len(found.shards) == 2


def test_some_tensors_are_told_alone(model):
    """Two of them, one resident."""
    _, places = model
    found = residency_of([places[0], places[5]])
    assert (found.resident_bytes, found.total_bytes, found.method) == (MIB, 2 * MIB, "cachestat")
    assert residency_of([]).share == 1.0


def test_evictions_are_summed_only_where_all_tell_them():
    """A part that cannot tell makes the sum unknown."""
    unknown = RangeResidency(resident_bytes=1, total_bytes=1, evicted_bytes=None)
    assert add_up([part(1, 2), part(3, 4)]) == part(4, 6)
    assert add_up([part(1, 2), unknown]).evicted_bytes is None


def test_a_missing_file_is_an_error(tmp_path):
    """Named, with the reason."""
    with pytest.raises(ProbeError, match="gone: cannot be opened"):
        residency_of([place(tmp_path / "gone", 0, TensorKind.DENSE, 0)])


def test_the_whole_agrees_with_fincore(model):
    """util-linux counts the same pages."""
    if shutil.which("fincore") is None:
        pytest.skip("fincore (util-linux) is not installed")
    paths, places = model
    with paths[1].open("rb", buffering=0) as file:  # part of it comes back
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        file.read(MIB + 12345)
    said = subprocess.run(
        ["fincore", "--json", "--bytes", *map(str, paths)], capture_output=True, text=True, check=True
    )
    counts = [int(row["res"]) for row in json.loads(said.stdout)["fincore"]]
    assert [shard.whole.resident_bytes for shard in map_cache(paths, places).shards] == counts
