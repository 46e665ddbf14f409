"""Where each architecture keeps all tokens, a window of them, or a state."""

import pytest

from streamworthy.errors import ProbeError
from streamworthy.gguf.attention import LayerMemory, read_attention
from streamworthy.gguf.metadata import Metadata
from tests.selftest.gguf.test_kv_cache import GQA, kv


def attention(architecture, keys):
    """Read the attention of a model of these keys."""
    named = {f"{architecture}.{key}": value for key, value in keys.items()}
    return read_attention(Metadata("m.gguf", {"general.architecture": architecture} | named))


@pytest.mark.parametrize(
    ("architecture", "pattern", "windows"),
    [("gpt-oss", None, "WF"), ("gemma2", None, "WFWFWF"), ("llama4", None, "WWWFWWWF"),
     ("cohere2moe", None, "FWWWFWWW"), ("gemma3", 3, "WWFWWF"), ("gemma3", 0, "WWW"), ("gemma3", 1, "FFF"),
     ("step35", (True, False, False), "WFF")],
)  # fmt: skip
def test_where_windows_are_is_the_architecture_s_or_the_file_s(architecture, pattern, windows):
    """Each architecture has its period; a file may say another, or a pattern."""
    keys = GQA | {"block_count": len(windows), "attention.sliding_window": 512}
    if pattern is not None:
        keys["attention.sliding_window_pattern"] = pattern
    found = kv(architecture, keys)
    assert (found.full_layer_count, found.window_layer_count) == (windows.count("F"), windows.count("W"))


@pytest.mark.parametrize(("architecture", "told"), [("gemma3", None), ("olmo2", 0), ("llama4", 0)])
def test_without_a_window_every_layer_is_full(architecture, told):
    """A model of a sliding architecture may have no window."""
    keys = GQA if told is None else GQA | {"attention.sliding_window": told}
    assert kv(architecture, keys).window_layer_count == 0


@pytest.mark.parametrize("architecture", ["mamba", "jamba", "deepseek4", "kimi-k3", "no-such-thing"])
def test_an_unknown_memory_is_an_error_and_no_guess(architecture):
    """Recurrent and newer architectures that are not modelled say so."""
    with pytest.raises(ProbeError, match=f"'{architecture}' is not known"):
        kv(architecture, GQA)


def test_the_last_layers_of_gemma_read_the_cache_of_earlier_ones():
    """gemma3n keeps tokens in its first twenty layers, gemma4 in all but those that it shares."""
    keys = GQA | {"block_count": 30, "attention.sliding_window": 512}
    assert [layer.kind for layer in attention("gemma3n", keys).layers].count("none") == 10
    own = keys | {"attention.sliding_window_pattern": (True, False) * 15, "attention.shared_kv_layers": 4}
    assert [layer.kind for layer in attention("gemma4", own).layers][-5:] == ["full", "none", "none", "none", "none"]


def test_windows_may_have_widths_of_their_own():
    """A sliding layer's heads can be narrower than a full one's, and groups can differ from layer to layer."""
    keys = GQA | {
        "attention.sliding_window": 512,
        "attention.sliding_window_pattern": (True, False),
        "attention.head_count_kv": (4, 1),
        "attention.key_length": 512,
        "attention.value_length": 512,
        "attention.key_length_swa": 256,
        "attention.value_length_swa": 128,
    }
    assert attention("gemma4", keys).layers == (
        LayerMemory(kind="window", key_width=1024, value_width=512, indexer_width=0),
        LayerMemory(kind="full", key_width=512, value_width=512, indexer_width=0),
    )


@pytest.mark.parametrize(
    ("keys", "kinds"),
    [
        ({}, "RRRFRRRF"),
        ({"full_attention_interval": 2}, "RFRFRFRF"),
        ({"attention.recurrent_layers": (True, False) * 4}, "RFRFRFRF"),
    ],
)
def test_recurrent_layers_are_the_file_s_or_three_of_four(keys, kinds):
    """A hybrid model says its interval or its layers, or has the architecture's."""
    own = GQA | {
        "block_count": 8,
        "ssm.inner_size": 128,
        "ssm.state_size": 32,
        "ssm.conv_kernel": 4,
        "ssm.group_count": 2,
    }
    found = attention("qwen3next", own | keys)
    assert "".join(layer.kind[0].upper() for layer in found.layers) == kinds
    assert found.state_width == 3 * (128 + 2 * 2 * 32) + 32 * 128


def test_indexers_are_shared_by_the_file_or_by_the_trained_context():
    """GLM-5.2 keeps indexer keys in two layers and every fourth, or where its file says; GLM-5 in all."""
    keys = GQA | {
        "block_count": 7,
        "attention.key_length": 576,
        "attention.key_length_mla": 192,
        "attention.value_length_mla": 128,
        "attention.indexer.key_length": 128,
    }
    told = {"attention.indexer.types": (0, 1, 0, 0, 0, 0, 1)}
    for extra, own in (
        ({"context_length": 2**20 - 1}, "1111111"),
        ({"context_length": 2**20}, "1110001"),
        (told, "0100001"),
    ):
        layers = attention("glm-dsa", keys | extra).layers
        assert "".join(str(int(layer.indexer_width == 128)) for layer in layers) == own
