"""Ceilings: bytes over bandwidth, by hand."""

from dataclasses import replace

import pytest

from streamworthy.facts.fit import KvFacts
from streamworthy.facts.gguf import ModelSizes
from streamworthy.facts.inspection import Bandwidths, DiskCeiling, MemoryCeiling
from streamworthy.report.ceilings import expected_hit_share, find_ceilings

SIZES = ModelSizes(
    partial=False,
    name="",
    architecture="glm-dsa",
    context_trained_tokens=None,
    vocabulary_tokens=0,
    embedding_length=0,
    parameter_count=0,
    layer_count=78,
    expert_count=256,
    expert_used_count=8,
    total_bytes=400 * 10**9,
    dense_bytes=10 * 10**9,
    embedding_bytes=10**9,
    expert_bytes=384 * 10**9,
    unused_bytes=0,
    routed_bytes_per_token=12 * 10**9,
    bytes_per_token=22 * 10**9,
    slab_bytes=(7 * 10**6,),
    layer_routed_bytes=(),
    type_bytes=(),
)
KV = KvFacts(
    context_tokens=4096,
    window_tokens=0,
    kv_type="f16",
    full_layer_count=78,
    window_layer_count=0,
    recurrent_layer_count=0,
    full_bytes=8 * 10**9,
    window_bytes=0,
    indexer_bytes=0,
    state_bytes=0,
    basis="",
)


def bandwidths(disk, memory, basis=""):
    """Give bandwidths in bytes a second."""
    return Bandwidths(disk_bytes_per_second=disk, memory_bytes_per_second=memory, basis=basis)


ROUND = bandwidths(None, None, "for round bandwidths")


def test_given_bandwidths_give_one_column():
    """12 GB of experts at 3 GB/s are 4 s without hits; 22 GB at 44 GB/s are half a second."""
    found = find_ceilings(SIZES, KV, bandwidths(3e9, 44e9))
    assert found.basis == ""
    assert found.disk == tuple(
        DiskCeiling(hit_share=hit, disk_bytes_per_second=3e9, tokens_per_second=pytest.approx(rate))
        for hit, rate in ((0.0, 0.25), (0.5, 0.5), (0.9, 2.5))
    )
    assert found.memory == (
        MemoryCeiling(context_tokens=0, memory_bytes_per_second=44e9, tokens_per_second=2.0),
        MemoryCeiling(context_tokens=4096, memory_bytes_per_second=44e9, tokens_per_second=pytest.approx(44 / 30)),
    )


def test_without_bandwidths_round_ones_stand_in():
    """1, 3 and 7 GB/s for each hit rate, and said not to be this machine's."""
    found = find_ceilings(SIZES, None, bandwidths(None, 44e9, "for round bandwidths"))
    assert found.basis == "for round bandwidths"
    assert [one.disk_bytes_per_second for one in found.disk] == [1e9, 3e9, 7e9] * 3
    assert [one.context_tokens for one in found.memory] == [0]


def test_an_indexer_leaves_only_its_own_keys_sure():
    """Sparse attention may read few rows of the cache, so all of them would be no ceiling."""
    found = find_ceilings(SIZES, replace(KV, indexer_bytes=10**9), ROUND)
    assert found.context_bytes_per_token == 10**9


def test_a_dense_model_streams_all_its_weights():
    """Without experts a miss is of everything a token reads."""
    dense = replace(SIZES, expert_count=0, expert_used_count=0, expert_bytes=0, routed_bytes_per_token=0)
    found = find_ceilings(dense, None, bandwidths(22e9, None))
    assert [one.tokens_per_second for one in found.disk] == pytest.approx([1.0, 2.0, 10.0])


@pytest.mark.parametrize(("cached", "expected"), [(-1, 0.0), (17 * 10**9, 0.0), (19 * 10**9, 0.33), (384 * 10**9, 1.0)])
def test_the_likely_hit_rate_has_a_cliff(cached, expected):
    """Below one and a half tokens' experts (18 GB) it is 0, and 1 when all fit."""
    assert expected_hit_share(SIZES, cached) == pytest.approx(expected, abs=0.01)
