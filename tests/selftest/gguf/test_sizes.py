"""Sizes: each tensor is counted by what a decoded token does with it."""

import pytest

from streamworthy.errors import ProbeError
from streamworthy.facts.gguf import ModelSizes
from streamworthy.gguf.subject import Subject
from tests.selftest.gguf import tiny
from tests.selftest.gguf.build import F16, F32, Q4_0, Q8_0, Tensor, build


def sized(name, dims, type_id, size):
    """Give a tensor whose data has its right size."""
    return Tensor(name, dims, type_id, bytes(size))


KEYS = (
    ("general.architecture", "str", "qwen3moe"),
    ("general.name", "str", "Two layers and one spare"),
    ("qwen3moe.block_count", "u32", 3),
    ("qwen3moe.nextn_predict_layers", "u32", 1),
    ("qwen3moe.embedding_length", "u32", 64),
    ("qwen3moe.context_length", "u32", 4096),
    ("qwen3moe.expert_count", "u32", 8),
    ("qwen3moe.expert_used_count", "u32", 2),
    ("tokenizer.ggml.tokens", "arr[str]", ["t"] * 100),
)
LAYER = (
    sized("blk.{}.attn_q.weight", (64, 64), Q8_0, 4352),
    sized("blk.{}.ffn_gate_inp.weight", (64, 8), F32, 2048),
    sized("blk.{}.ffn_gate_exps.weight", (64, 32, 8), Q4_0, 9216),
    sized("blk.{}.ffn_down_exps.weight", (32, 64, 8), Q8_0, 17408),
    sized("blk.{}.ffn_up_shexp.weight", (64, 32), Q4_0, 1152),
)
ENDS = (
    sized("token_embd.weight", (64, 100), F16, 12800),
    sized("output.weight", (64, 100), Q8_0, 6800),
    sized("output_norm.weight", (64,), F32, 256),
)
LAYERS = tuple(Tensor(one.name.format(layer), one.dims, one.type_id, one.data) for layer in range(3) for one in LAYER)


def sizes_of(folder, keys=KEYS, tensors=(*ENDS, *LAYERS)):
    """Measure a file of these parts."""
    path = folder / "m.gguf"
    path.write_bytes(build(keys, tensors))
    return Subject(path).sizes


def test_every_tensor_is_counted_once_by_its_use(tmp_path):
    """Dense, routed, embedding and unused bytes add up to the whole."""
    dense = 6800 + 256 + 2 * (4352 + 2048 + 1152)
    routed = 2 * (9216 + 17408) // 4
    assert sizes_of(tmp_path) == ModelSizes(
        partial=False,
        name="Two layers and one spare",
        architecture="qwen3moe",
        context_trained_tokens=4096,
        vocabulary_tokens=100,
        embedding_length=64,
        parameter_count=3 * (4096 + 512 + 2 * 16384 + 2048) + 2 * 6400 + 64,
        layer_count=2,
        expert_count=8,
        expert_used_count=2,
        total_bytes=12800 + 6800 + 256 + 3 * 34176,
        dense_bytes=dense,
        embedding_bytes=12800,
        expert_bytes=2 * (9216 + 17408),
        unused_bytes=34176,
        routed_bytes_per_token=routed,
        bytes_per_token=dense + routed + 128,
        slab_bytes=(1152, 2176),
        layer_routed_bytes=(6656, 6656),
        type_bytes=(("Q8_0", 6800 + 3 * 21760), ("Q4_0", 3 * 10368), ("F16", 12800), ("F32", 256 + 3 * 2048)),
    )


def test_an_embedding_that_is_the_output_too_is_read_whole(tmp_path):
    """Without an output matrix each token reads the whole embedding."""
    found = sizes_of(tmp_path, tensors=(ENDS[0], ENDS[2], *LAYERS))
    assert found.dense_bytes == 12800 + 256 + 2 * (4352 + 2048 + 1152)
    assert found.bytes_per_token == found.dense_bytes + found.routed_bytes_per_token


def test_experts_in_use_may_differ_from_layer_to_layer(tmp_path):
    """An array of expert_used_count is taken layer by layer."""
    keys = tuple(
        ("qwen3moe.expert_used_count", "arr[u32]", [1, 8, 0]) if key[0].endswith("used_count") else key for key in KEYS
    )
    found = sizes_of(tmp_path, keys=keys)
    assert found.layer_routed_bytes == ((9216 + 17408) // 8, 9216 + 17408)
    assert found.expert_used_count == 8


def test_a_dense_model_has_no_bank(tmp_path):
    """Without experts every tensor of a layer is dense."""
    path = tmp_path / "m.gguf"
    path.write_bytes(tiny.gemma3())
    found = Subject(path).sizes
    assert (found.expert_bytes, found.slab_bytes, found.routed_bytes_per_token) == (0, (), 0)
    assert found.dense_bytes == found.total_bytes - found.embedding_bytes


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("qwen3moe.block_count", ("u32", 0), "block_count: found 0, expected 1 to 512"),
        ("qwen3moe.block_count", ("u32", 513), "block_count: found 513"),
        ("qwen3moe.block_count", ("str", "two"), "block_count: found 'two', expected a whole number"),
        ("qwen3moe.expert_used_count", ("arr[u32]", [1]), "expected a whole number, or one for each of 3 layers"),
        ("general.architecture", ("u32", 3), "general.architecture: not found"),
    ],
)
def test_keys_that_are_not_usable_are_named(tmp_path, key, value, message):
    """A wrong key is an error with the file, the key, found and expected."""
    keys = tuple((name, *(value if name == key else rest)) for name, *rest in KEYS)
    with pytest.raises(ProbeError, match=r"m\.gguf") as caught:
        sizes_of(tmp_path, keys=keys)
    assert message in caught.value.message


def test_an_embedding_of_nothing_is_no_division_by_zero(tmp_path):
    """The reader notes the fault and goes on, and so does what follows from its header."""
    keys = (("general.architecture", "str", "llama"), ("llama.block_count", "u32", 1))
    path = tmp_path / "m.gguf"
    path.write_bytes(build(keys, (Tensor("token_embd.weight", (0, 4), 0, b""), Tensor("output.weight"))))
    found = Subject(path)
    assert found.headers[0].faults
    assert found.sizes.embedding_bytes == 0
