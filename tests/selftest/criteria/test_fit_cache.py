"""What is left as page cache."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.criteria import fit
from streamworthy.facts.gguf import ModelSizes
from streamworthy.facts.plan import EnginePlan
from streamworthy.verdict import Word, verdict
from tests.selftest.criteria.asked import limit
from tests.selftest.criteria.test_fit import FACTS, GIB
from tests.selftest.probes.test_machine import PLAN

SIZES = ModelSizes(
    partial=False,
    name="",
    architecture="qwen3moe",
    context_trained_tokens=None,
    vocabulary_tokens=1,
    embedding_length=1,
    parameter_count=1,
    layer_count=1,
    expert_count=64,
    expert_used_count=4,
    total_bytes=50 * GIB,
    dense_bytes=10 * GIB,
    embedding_bytes=0,
    expert_bytes=40 * GIB,
    unused_bytes=0,
    routed_bytes_per_token=4 * GIB,
    bytes_per_token=14 * GIB,
    slab_bytes=(2**20,),
    layer_routed_bytes=(4 * GIB,),
    type_bytes=(),
)
STREAMING = EnginePlan(**PLAN, lock_bytes=0)
ASKED = limit(at_least=1.5, reserve=2 * GIB)  # the need is 16 GiB with it, so 8 GiB of 24 are left: two tokens


def test_two_tokens_experts_are_enough():
    """Whole verdict of a pass."""
    assert fit.cache(FACTS, SIZES, STREAMING, ASKED) == verdict(
        Word.PASS,
        measured="8.0 GiB left as page cache, 2.00x of a token's experts",
        required="at least 1.50x of 4.0 GiB",
        value=2.0,
        unit="ratio",
        evidence=("available=24.0 GiB (MemAvailable)", "need=16.0 GiB"),
    )


@pytest.mark.parametrize(
    ("available", "word"), [(22 * GIB - 1, Word.FAIL), (22 * GIB, Word.PASS), (22 * GIB + 1, Word.PASS)]
)
def test_one_and_a_half_tokens_are_the_least(available, word):
    """Inclusive to the byte."""
    assert fit.cache(replace(FACTS, available_bytes=available), SIZES, STREAMING, ASKED).word is word


@pytest.mark.parametrize(
    ("left", "words"), [(5, "hardly hits"), (3, "smaller than one token's experts"), (-9, "smaller")]
)
def test_below_one_token_nothing_is_hit(left, words):
    """The cause tells the cliff from the slope; less than nothing is nothing."""
    found = fit.cache(replace(FACTS, available_bytes=(16 + left) * GIB), SIZES, STREAMING, ASKED)
    assert words in found.cause
    assert found.value == max(0, left) / 4
    assert found.fix[-1] == f"memory: {6.0 - max(0, left):.1f} GiB more"


def test_a_bank_that_fits_whole_needs_no_multiple():
    """All experts stay: more is not to be had."""
    wide = replace(SIZES, routed_bytes_per_token=30 * GIB)
    assert fit.cache(replace(FACTS, available_bytes=56 * GIB), wide, STREAMING, ASKED).word is Word.PASS
    assert fit.cache(replace(FACTS, available_bytes=55 * GIB), wide, STREAMING, ASKED).word is Word.FAIL


@pytest.mark.parametrize(
    ("sizes", "plan", "reason"),
    [
        (replace(SIZES, routed_bytes_per_token=0), STREAMING, "no experts"),
        (SIZES, replace(STREAMING, lock_bytes=-1), "memory of its own"),
        (SIZES, replace(STREAMING, repack=True), "memory of its own"),
        (SIZES, replace(STREAMING, mmap=False), "memory of its own"),
    ],
)
def test_where_no_cache_is_wanted_it_does_not_apply(sizes, plan, reason):
    """A dense model, and weights that are held in memory."""
    found = fit.cache(FACTS, sizes, plan, ASKED)
    assert found.word is Word.NOT_APPLICABLE
    assert reason in found.cause


def test_missing_shards_leave_the_question_open():
    """Sizes are lower bounds then."""
    assert fit.cache(replace(FACTS, partial=True), SIZES, STREAMING, ASKED).word is Word.ERROR
