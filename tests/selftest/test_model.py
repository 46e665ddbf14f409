"""The physics of streaming: each term alone, then the whole on machines of known numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamworthy import model
from streamworthy.facts.plan import PLAIN_PLAN
from streamworthy.facts.tier import Efficiency, ModelBytes, Reference, Roofs

GB = 10**9
MOE = ModelBytes(
    total_bytes=390 * GB,
    dense_bytes=10 * GB,
    expert_bytes=380 * GB,
    expert_count=256,
    expert_used_count=8,
    slab_bytes=6_600_000,
    kv_bytes_per_token=100_000,
    overhead_bytes=1 * GB,
)
DENSE = replace(MOE, expert_bytes=0, expert_count=0, expert_used_count=0, total_bytes=10 * GB)
ROOFS = Roofs(
    disk_bytes_per_second=2 * GB, memory_bytes_per_second=40 * GB, prompt_tokens_per_second=10, available_bytes=60 * GB
)
LOSSLESS = Efficiency(
    load_share=1, mmap_share=1, memory_share=1, serial_share=1, read_amplification_ratio=1, start_seconds=0
)
PLAN = replace(PLAIN_PLAN, context_tokens=1000, prompt_tokens=100, decode_tokens=8, batch_tokens=512)


def test_a_token_reads_the_used_share_of_the_experts():
    """8 of 256 experts are 1/32 of their bytes; a dense model routes nothing."""
    assert model.routed_bytes(MOE) == 380 * GB / 32
    assert model.routed_bytes(DENSE) == 0


@pytest.mark.parametrize(("tokens", "percent"), [(1, 3), (8, 22), (32, 64), (64, 87), (128, 98)])
def test_a_batch_needs_the_published_share_of_all_experts(tokens, percent):
    """``1 - (1 - 8/256)^tokens``, the table for 8 of 256."""
    assert round(100 * model.expert_coverage(MOE, tokens)) == percent


def test_the_cache_is_what_dense_weights_kv_and_overhead_leave():
    """60 GB less 10 dense, 0.1 of KV cache and 1 of overhead; never less than nothing."""
    assert model.cache_bytes(MOE, ROOFS, 1000) == pytest.approx(48.9 * GB)
    assert model.cache_bytes(MOE, replace(ROOFS, available_bytes=5 * GB), 1000) == 0


@pytest.mark.parametrize(
    ("ratio", "hit"), [(0.05, 0.33), (0.08, 0.42), (0.10, 0.47), (0.15, 0.57), (0.20, 0.65), (0.30, 0.75), (0.50, 0.86)]
)
def test_the_hit_rate_follows_the_published_fit(ratio, hit):
    """``1 - exp(-3.15 r^0.69)`` at the ratios for which it was published."""
    assert model.hit_share(MOE, ratio * MOE.expert_bytes) == pytest.approx(hit, abs=0.01)


def test_below_one_and_a_half_tokens_of_experts_nothing_hits():
    """The LRU cliff: a cycle that is longer than the cache never finds what it needs."""
    cliff = 1.5 * model.routed_bytes(MOE)
    assert model.hit_share(MOE, cliff - 1) == 0
    assert model.hit_share(MOE, cliff) > 0.2
    assert model.hit_share(MOE, MOE.expert_bytes) == 1


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_larger_cache_never_hits_less(one, other):
    """The hit rate is between 0 and 1 and grows with the cache."""
    small, large = sorted((one, other))
    hits = [model.hit_share(MOE, ratio * MOE.expert_bytes) for ratio in (small, large)]
    assert 0 <= hits[0] <= hits[1] <= 1


def test_loading_reads_every_byte_and_clears_the_kv_cache():
    """390 GB at half of 2 GB/s, 0.1 GB of KV cache at 40 GB/s, 3 s of start."""
    efficiency = replace(LOSSLESS, load_share=0.5, start_seconds=3)
    assert model.load_seconds(MOE, ROOFS, efficiency, 1000) == pytest.approx(3 + 390 + 0.1 / 40)


def test_a_cold_prompt_reads_dense_weights_and_its_experts():
    """One sweep from the disk at 2 GB/s, then computing, which here takes longer than memory."""
    swept = 380 * GB * model.expert_coverage(MOE, 100)
    seconds = model.prefill_seconds(MOE, ROOFS, LOSSLESS, PLAN, evicted=True)
    assert seconds == pytest.approx((10 * GB + swept) / (2 * GB) + 10)


def test_a_prompt_in_two_batches_sweeps_twice():
    """Each physical batch needs nearly all experts again, so half the batch costs nearly twice the reads."""
    halved = replace(PLAN, ubatch_tokens=50)
    once, twice = (model.prefill_seconds(MOE, ROOFS, LOSSLESS, plan, evicted=True) for plan in (PLAN, halved))
    assert 1.6 < twice / once < 2


def test_a_prompt_on_resident_weights_is_bound_by_computing():
    """Everything fits: 100 tokens at 10 tok/s, with no disk in it."""
    roomy = replace(ROOFS, available_bytes=500 * GB)
    assert model.prefill_seconds(MOE, roomy, LOSSLESS, PLAN, evicted=False) == pytest.approx(10)


def test_warm_decode_waits_for_missed_experts_then_for_memory():
    """The serial model, term by term, with each loss where it belongs."""
    efficiency = replace(LOSSLESS, mmap_share=0.5, memory_share=0.8, serial_share=0.6, read_amplification_ratio=1.1)
    routed = 380 * GB / 32
    missed = routed * math.exp(-3.15 * (48.9 / 380) ** 0.69)
    one = (missed * 1.1 / (1 * GB) + (10 * GB + routed) / (32 * GB)) / 0.6
    assert model.decode_seconds(MOE, ROOFS, efficiency, PLAN, evicted=False) == pytest.approx(8 * one)


def test_cold_decode_is_slower_than_warm_and_no_faster_than_its_own_reads():
    """From an empty cache the dense weights come once and experts as often as they are new."""
    cold, warm = (model.decode_seconds(MOE, ROOFS, LOSSLESS, PLAN, evicted=evicted) for evicted in (True, False))
    new = 380 * GB * model.expert_coverage(MOE, 8)
    assert cold > warm
    assert cold == pytest.approx((10 * GB + new) / (2 * GB) + 8 * (10 + 380 / 32) / 40)


@given(
    st.floats(1e8, 2e10), st.floats(1e9, 5e11), st.floats(1e9, 6e11), st.tuples(st.floats(0.05, 1), st.floats(0.05, 1)),
    st.floats(1, 5),
)  # fmt: skip
def test_nothing_is_predicted_above_the_ceiling(disk, memory, available, shares, amplification):
    """Perfect overlap without loss bounds the serial model on any machine."""
    roofs = replace(ROOFS, disk_bytes_per_second=disk, memory_bytes_per_second=memory, available_bytes=available)
    mmap, serial = shares
    efficiency = replace(LOSSLESS, mmap_share=mmap, serial_share=serial, read_amplification_ratio=amplification)
    ceiling = model.ceiling_tokens_per_second(MOE, roofs, PLAN.context_tokens)
    warm = PLAN.decode_tokens / model.decode_seconds(MOE, roofs, efficiency, PLAN, evicted=False)
    assert warm <= ceiling * (1 + 1e-9)


def test_a_prediction_is_these_parts_together():
    """Whole record on a machine where all fits, so that every number can be done by hand."""
    roofs = Roofs(
        disk_bytes_per_second=1 * GB,
        memory_bytes_per_second=10 * GB,
        prompt_tokens_per_second=50,
        available_bytes=20 * GB,
    )
    small = replace(DENSE, kv_bytes_per_token=0)
    reference = Reference(roofs=roofs, efficiency=LOSSLESS, model=small, reason="a test")
    assert model.predict(reference, PLAN) == model.Prediction(
        load_seconds=10.0,
        load_bytes_per_second=1 * GB,
        first_token_cold_seconds=12.0,
        first_token_warm_seconds=2.0,
        prefill_tokens_per_second=50.0,
        decode_cold_tokens_per_second=8 / 18,
        decode_warm_tokens_per_second=1.0,
    )
