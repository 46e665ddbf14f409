"""KV arithmetic against published sizes and by hand; against the engine in test_kv_cache_engine."""

from dataclasses import replace

import pytest

from streamworthy.errors import ProbeError
from streamworthy.facts.fit import KvFacts
from streamworthy.facts.plan import PLAIN_PLAN
from streamworthy.gguf.kv_cache import effective_ubatch, measure_kv
from streamworthy.gguf.metadata import Metadata

PLAN = replace(PLAIN_PLAN, batch_tokens=512)
GQA = {
    "block_count": 2,
    "embedding_length": 512,
    "attention.head_count": 8,
    "attention.head_count_kv": 2,
    "context_length": 32768,
}
R1 = {
    "block_count": 61,
    "attention.head_count": 128,
    "attention.head_count_kv": 1,
    "attention.key_length": 576,
    "attention.value_length": 512,
    "attention.key_length_mla": 192,
    "attention.value_length_mla": 128,
}
GLM = R1 | {
    "block_count": 79,
    "nextn_predict_layers": 1,
    "attention.indexer.key_length": 128,
    "context_length": 202_752,
}


def kv(architecture, keys, **changes):
    """Measure a model of these keys under the plan with these changes."""
    named = {f"{architecture}.{key}": value for key, value in keys.items()}
    return measure_kv(Metadata("m.gguf", {"general.architecture": architecture} | named), replace(PLAN, **changes))


def test_grouped_query_attention_keeps_keys_and_values_of_each_group():
    """Two layers of two groups of 64: 512 values a token, two bytes each."""
    assert kv("llama", GQA) == KvFacts(
        context_tokens=4096,
        window_tokens=0,
        kv_type="f16",
        full_layer_count=2,
        window_layer_count=0,
        recurrent_layer_count=0,
        full_bytes=4096 * 2 * 2 * 128 * 2,
        window_bytes=0,
        indexer_bytes=0,
        state_bytes=0,
        basis="grouped-query attention",
    )


@pytest.mark.parametrize(("asked", "got"), [(1, 256), (255, 256), (256, 256), (257, 512), (0, 32768)])
def test_the_context_is_padded_and_zero_means_as_trained(asked, got):
    """The engine pads the context to 256 tokens."""
    assert kv("llama", GQA, context_tokens=asked).context_tokens == got


@pytest.mark.parametrize(("slots", "total"), [(1, 4096), (3, 4608), (4, 4096), (64, 16384)])
def test_slots_share_the_context_and_each_is_padded(slots, total):
    """A slot's share is padded too, so many slots of little context cost more."""
    assert kv("llama", GQA, parallel_slots=slots).context_tokens == total


@pytest.mark.parametrize(
    ("kind", "token"), [("f32", 4), ("bf16", 2), ("q8_0", 34 / 32), ("q5_0", 22 / 32), ("q4_0", 18 / 32)]
)
def test_the_type_decides_the_bytes_of_a_value(kind, token):
    """Quantised caches store blocks."""
    assert kv("llama", GQA, kv_type=kind).total_bytes == 4096 * 2 * 2 * 128 * token


def test_published_sizes_of_latent_attention_come_out():
    """DeepSeek-R1 at 32k in q8_0 is 1166.6 MiB; GLM-5 at 32k in f16 3.35 GiB, GLM-5.2 with its shared indexers 2.91."""
    assert kv("deepseek2", R1, context_tokens=32768, kv_type="q8_0").total_bytes / 2**20 == pytest.approx(
        1166.6, abs=0.05
    )
    assert kv("glm-dsa", GLM, context_tokens=32768).total_bytes / 2**30 == pytest.approx(3.35, abs=0.005)
    shared = GLM | {"context_length": 2**20}
    assert kv("glm-dsa", shared, context_tokens=32768).total_bytes / 2**30 == pytest.approx(2.91, abs=0.005)


def test_latent_attention_without_absorption_keeps_all_heads():
    """Quantisations that predate the split keep keys and values of every head, forty times as much."""
    old = {key: value for key, value in R1.items() if not key.endswith("_mla")} | {
        "attention.head_count_kv": 128,
        "attention.key_length": 192,
        "attention.value_length": 128,
    }
    assert kv("deepseek2", old).total_bytes == 4096 * 61 * 128 * (192 + 128) * 2


@pytest.mark.parametrize(("ubatch", "cells"), [(512, 1024), (128, 768), (1, 768), (4096, 1024)])
def test_a_window_keeps_itself_and_a_micro_batch(ubatch, cells):
    """A sliding-window layer keeps the window and one micro-batch, padded to 256; the batch bounds the micro-batch."""
    sliding = GQA | {"block_count": 6, "attention.sliding_window": 512}
    found = kv("gemma3", sliding, ubatch_tokens=ubatch)
    assert (found.window_tokens, found.full_layer_count, found.window_layer_count) == (cells, 1, 5)


def test_windows_are_kept_in_full_when_the_plan_says_so():
    """With swa_full a window costs what a full layer costs."""
    sliding = GQA | {"block_count": 6, "attention.sliding_window": 512}
    full = kv("gemma3", sliding, swa_full=True)
    assert full.total_bytes == kv("llama", GQA | {"block_count": 6}).total_bytes
    assert full.window_tokens == 4096


def test_a_window_never_keeps_more_than_the_context():
    """A short context bounds the window."""
    assert kv("gpt-oss", GQA | {"attention.sliding_window": 128}, context_tokens=256).window_tokens == 256


@pytest.mark.parametrize(
    ("keys", "kind", "words"),
    [(GQA, "q9_0", "kv_type: found 'q9_0'"), (GQA | {"attention.key_length": 20}, "q8_0", "multiples of 32")],
)
def test_a_type_that_cannot_hold_the_rows_is_refused(keys, kind, words):
    """An unknown type, and rows that are not whole blocks, are errors of the tier."""
    with pytest.raises(ProbeError, match=words):
        kv("llama", keys, kv_type=kind)


def test_missing_keys_are_named():
    """A header without heads cannot be measured, and says which key is missing."""
    with pytest.raises(ProbeError, match=r"llama\.attention\.head_count: found nothing"):
        kv("llama", {"block_count": 2, "embedding_length": 64})


@pytest.mark.parametrize(
    ("context", "batch", "ubatch", "got"),
    [(4096, 512, 512, 512), (4096, 512, 1024, 512), (256, 512, 512, 256), (0, 512, 0, 512)],
)
def test_the_micro_batch_is_bounded_by_batch_and_context(context, batch, ubatch, got):
    """The engine takes the least of the three; 0 means as large as the batch."""
    assert effective_ubatch(replace(PLAN, context_tokens=context, batch_tokens=batch, ubatch_tokens=ubatch)) == got
