"""What layers have against what the keys promise; the differential's cases_parts.py asks the engine of more."""

import pytest

from streamworthy.gguf.subject import Subject
from tests.selftest.differential.table import ask_engine
from tests.selftest.gguf.build import F32, Tensor, build
from tests.selftest.gguf.test_kv_cache_engine import needs_engine
from tests.selftest.gguf.tiny import EMBEDDING, _attention, _feed, _frame, _keys, _latent_keys, _latent_layer, _tensor

RUNS = 0
GLM = {
    "nextn_predict_layers": 1,
    "expert_count": 4,
    "expert_used_count": 2,
    "expert_shared_count": 1,
    "expert_feed_forward_length": 96,
    "leading_dense_block_count": 1,
}


ROUTERS = tuple(f"blk.{layer}.ffn_gate_inp" for layer in range(4))
WAYS_DOWN = tuple(f"blk.{layer}.ffn_down_exps" for layer in range(4))


def glm4moe(*, left_out=(), **changes):
    """A dense layer, two of experts, and one for multi-token prediction."""
    tensors = _frame()
    for layer in range(4):
        blk = f"blk.{layer}."
        tensors += [*_attention(layer), _tensor(f"{blk}post_attention_norm.weight", EMBEDDING)]
        if layer:
            tensors += _feed(layer, suffix="_exps", experts=(4,)) + _feed(layer, suffix="_shexp")
            tensors += [_tensor(f"{blk}ffn_gate_inp.weight", EMBEDDING, 4), _tensor(f"{blk}exp_probs_b.bias", 4)]
        else:
            tensors += _feed(layer)
    tensors += [
        _tensor("blk.3.nextn.eh_proj.weight", 2 * EMBEDDING, EMBEDDING),
        _tensor("blk.3.nextn.enorm.weight", EMBEDDING),
        _tensor("blk.3.nextn.hnorm.weight", EMBEDDING),
    ]
    kept = [tensor for tensor in tensors if not tensor.name.startswith(left_out)] if left_out else tensors
    return build(_keys("glm4moe", 4, GLM | changes), kept)


def deepseek2(dense):
    """One dense layer and two of experts; ``dense`` is what the key says."""
    tensors = _frame()
    for layer in range(3):
        tensors += _latent_layer(layer)
    return build(_latent_keys("deepseek2", 3, {"leading_dense_block_count": dense}), tensors)


def llama(*, left_out="", **changes):
    """Two dense layers."""
    tensors = _frame()
    for layer in range(2):
        tensors += [*_attention(layer), _tensor(f"blk.{layer}.ffn_norm.weight", EMBEDDING), *_feed(layer)]
    kept = [tensor for tensor in tensors if not left_out or left_out not in tensor.name]
    return build(_keys("llama", 2, changes), kept)


def deci(heads, widths):
    """Layers of other attention and other width each; one without both is passed through."""
    keys = [key for key in _keys("deci", len(heads), {}) if "head_count" not in key[0] and "feed_forward" not in key[0]]
    keys += [
        ("deci.attention.head_count", "arr[u32]", heads),
        ("deci.attention.head_count_kv", "arr[u32]", heads),
        ("deci.feed_forward_length", "arr[u32]", widths),
    ]
    tensors = _frame()
    for layer, (head, width) in enumerate(zip(heads, widths, strict=True)):
        norms = [_tensor(f"blk.{layer}.{name}.weight", EMBEDDING) for name in ("ffn_norm",) if width]
        attention = _attention(layer, query=64 * head, groups=head, out=64 * head) if head else []
        tensors += attention + norms + (_feed(layer, width=width) if width else [])
    return build(tuple(keys), tensors)


CASES = {
    "a layer for multi-token prediction": (glm4moe(), ""),
    "the same, left out": (glm4moe(left_out=("blk.3.",)), ""),
    "the same alone": (glm4moe(left_out=("blk.0.", "blk.1.", "blk.2.")), "a draft for multi-token prediction"),
    "dense layers that have experts": (glm4moe(leading_dense_block_count=2), "layer 1: found experts"),
    "a layer of experts that is dense": (glm4moe(leading_dense_block_count=0), "layer 0: found no experts"),
    "latent attention": (deepseek2(1), ""),
    "latent attention, dense layers that have experts": (deepseek2(2), "layer 1: found experts, expected a dense"),
    "latent attention, a layer of experts that is dense": (deepseek2(0), "layer 0: found no experts, expected"),
    "a layer that is passed through": (deci([4, 0, 4], [96, 0, 96]), ""),
    "dense": (llama(), ""),
    "no keys in any layer": (
        llama(left_out="attn_k."),
        "tensor 'blk.0.attn_k.weight' or attn_qkv.weight: found nothing",
    ),
    "no attention in any layer": (llama(left_out="attn_"), "tensor 'blk.0.attn_q.weight' or attn_qkv.weight"),
    "no way down in any layer": (llama(left_out="ffn_down"), "tensor 'blk.0.ffn_down.weight': found nothing"),
    "no routers": (glm4moe(left_out=ROUTERS), "tensor 'blk.1.ffn_gate_inp.weight': found nothing"),
    "experts without a way down": (glm4moe(left_out=WAYS_DOWN), "tensor 'blk.1.ffn_down_exps.weight': found nothing"),
    "layers for multi-token prediction that are not counted": (
        glm4moe(nextn_predict_layers=0),
        "nextn_predict_layers: found 0, expected 1",
    ),
    "more of them than layers": (
        glm4moe(nextn_predict_layers=9),
        "nextn_predict_layers: found 9, expected less than 4",
    ),
    "all layers for multi-token prediction": (glm4moe(nextn_predict_layers=4), "found 4, expected less than 4"),
    "a part of a head that is rotated": (llama(**{"rope.dimension_count": 32}), "rope.dimension_count: found 32"),
    "experts that no key counts": (glm4moe(expert_count=0, expert_used_count=0), "glm4moe.expert_count: found 0"),
}


@pytest.fixture
def write(tmp_path):
    """Write a case as a file."""

    def write_case(name):
        path = tmp_path / f"{name}.gguf"
        path.write_bytes(CASES[name][0])
        return path

    return write_case


@pytest.mark.parametrize("name", CASES)
def test_parts_are_those_that_the_keys_promise(write, name):
    """A line names what is there and what the keys say; sound models have none."""
    (header,) = Subject(write(name)).headers
    told = CASES[name][1]
    lines = [fault.line for fault in header.faults]
    assert any(told in line for line in lines) if told else not lines, lines


def test_the_engine_says_the_same(write):
    """What is found is what llama.cpp refuses, and nothing else."""
    needs_engine()
    endings = ask_engine([[str(write(name)), 0] for name in CASES])
    assert {name: status == RUNS for name, (status, _) in zip(CASES, endings, strict=True)} == {
        name: not told for name, (_, told) in CASES.items()
    }


def test_an_architecture_that_names_its_layers_otherwise_is_left_alone(tmp_path):
    """T5 has enc.blk.0 and dec.blk.0."""
    keys = [(name.replace("glm4moe", "t5"), kind, "t5" if value == "glm4moe" else value)
            for name, kind, value in _keys("glm4moe", 2, {})]  # fmt: skip
    (tmp_path / "m.gguf").write_bytes(
        build(tuple(keys), [Tensor("enc.blk.0.attn_q.weight", (64, 64), F32, bytes(2**14))])
    )
    assert [entry.faults for entry in Subject(tmp_path).headers] == [()]
