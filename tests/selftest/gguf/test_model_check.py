"""What is wrong with a model whose files are sound: each case is the tiny model with one named change."""

from dataclasses import replace

import pytest

from streamworthy.gguf.model_check import check_model
from streamworthy.gguf.subject import Subject
from tests.selftest.differential.model import make_set, make_whole, quantise
from tests.selftest.gguf import tiny
from tests.selftest.gguf.build import F16, F32, Q8_0, Tensor

KEY = "qwen3moe."


@pytest.fixture
def lines(tmp_path):
    """Write a changed whole model and give the lines of its faults."""

    def write_and_list(change):
        whole = make_whole()
        change(whole)
        path = tmp_path / whole.name
        path.write_bytes(whole.raw())
        return [fault.line for entry in Subject(path).headers for fault in entry.faults]

    return write_and_list


def keyed(name, kind, value):
    """Change a key."""
    return lambda whole: whole.set_key(KEY + name, kind, value)


def without(name):
    """Leave out a key."""
    return lambda whole: whole.drop_key(KEY + name)


def changed(part, **changes):
    """Change a tensor's entry and, with ``type_id``, its data."""

    def change(whole):
        index = whole.index(part)
        whole.tensors[index] = replace(whole.tensors[index], **changes)

    return change


def typed(part, type_id, weights, size):
    """Give a tensor another type."""

    def change(whole):
        index = whole.index(part)
        whole.tensors[index] = quantise(whole.tensors[index], type_id, weights, size)

    return change


def test_the_tiny_model_is_sound_whole_and_in_shards(tmp_path, lines):
    """Nothing is found where nothing is wrong."""
    assert lines(lambda _: None) == []
    for shard in make_set():
        (tmp_path / shard.name).write_bytes(shard.raw())
    assert all(not entry.faults for entry in Subject(tmp_path / shard.name).headers)


@pytest.mark.parametrize("architecture", tiny.MODELS)
def test_layers_that_differ_by_design_are_no_fault(tmp_path, architecture):
    """Windows, latent attention, indexers in some layers, recurrent layers and dense first layers all pass."""
    path = tmp_path / "m.gguf"
    path.write_bytes(tiny.MODELS[architecture]())
    assert [entry.faults for entry in Subject(path).headers] == [()]


FAULTS = {
    "router in F64": (typed("blk.1.ffn_gate_inp", 28, 1, 8), "type of tensor 'blk.1.ffn_gate_inp.weight': found F64"),
    "weights as Q8_1": (typed("blk.1.attn_k.", 9, 32, 36), "type of tensor 'blk.1.attn_k.weight': found Q8_1"),
    "norm in F16": (typed("blk.1.ffn_norm", F16, 1, 2), "type of tensor 'blk.1.ffn_norm.weight': found F16"),
    "a type of key": (keyed("block_count", "u64", 3), "qwen3moe.block_count: found type u64, expected type u32"),
    "no context": (without("context_length"), "qwen3moe.context_length: found nothing"),
    "text for a number": (keyed("expert_count", "str", "4"), "qwen3moe.expert_count: found type str"),
    "no heads": (keyed("attention.head_count", "u32", 0), "qwen3moe.attention.head_count: found 0"),
    "heads that do not divide": (keyed("attention.head_count_kv", "u32", 3), "expected a divisor of its 4 heads"),
    "too many experts": (keyed("expert_count", "u32", 513), "qwen3moe.expert_count: found 513, expected at most 512"),
    "more experts used than there are": (keyed("expert_used_count", "u32", 5), "found 5, expected 1 to 4"),
    "no experts used": (keyed("expert_used_count", "u32", 0), "found 0, expected 1 to 4"),
    "width": (keyed("embedding_length", "u32", 96), "shape of tensor 'token_embd.weight': found 64 x 96, expected 96"),
    "no width": (keyed("embedding_length", "u32", 0), "qwen3moe.embedding_length: found 0, expected at least 1"),
    "key length": (keyed("attention.key_length", "u32", 64), "256 (attention.head_count x attention.key_length)"),
    "vocabulary": (keyed("vocab_size", "u32", 95), "found 64 x 96, expected 95 (vocab_size)"),
    "width of experts": (keyed("expert_feed_forward_length", "u32", 32), "expected 32 (expert_feed_forward_length)"),
    "split in three axes": (changed("blk.1.attn_v.", dims=(64, 32, 2)), "shape of tensor 'blk.1.attn_v.weight'"),
    "a lost tensor": (lambda whole: whole.tensors.pop(whole.index("1.attn_k")), "'blk.1.attn_k.weight': found nothing"),
    "no embedding": (lambda whole: whole.tensors.pop(0), "tensor 'token_embd.weight': found nothing"),
    "a stray tensor": (lambda whole: _add(whole, "blk.1.odd.weight"), "'blk.1.odd.weight': found this tensor"),
    "a stray layer": (lambda whole: _add(whole, "blk.9.odd.weight"), "found layer 9, expected a layer below 3"),
    "data at an odd place": (lambda whole: _align(whole, 1), "begin of the data"),
    "no architecture": (lambda whole: whole.drop_key("general.architecture"), "general.architecture: found nothing"),
}  # fmt: skip


def _add(whole, name):
    whole.tensors.append(Tensor(name))


def _align(whole, value):
    whole.set_key("general.alignment", "u32", value)
    whole.set_key("general.name", "str", "n")
    whole.options["alignment"] = value
    while len(whole.raw()) % 2 == 0:
        whole.set_key("general.name", "str", "n" * (len(whole.keys[-1][2]) + 1))


@pytest.mark.parametrize("case", FAULTS)
def test_one_change_is_found(lines, case):
    """The line names the tensor or key, what was found and what was expected."""
    change, line = FAULTS[case]
    found = lines(change)
    assert any(line in one for one in found), found


def test_axes_of_length_one_are_none(lines):
    """The engine counts them so."""
    assert lines(changed("blk.1.attn_v.", dims=(64, 64, 1, 1), type_id=F32, data=bytes(4 * 64 * 64))) == []


def test_a_model_in_parts_is_not_judged_as_a_whole(tmp_path):
    """While a shard is missing or broken, what its tensors should be is not asked."""
    for shard in make_set()[:2]:
        (tmp_path / shard.name).write_bytes(shard.raw())
    assert all(not entry.faults for entry in Subject(tmp_path).headers)
    third = make_set()[2]
    (tmp_path / third.name).write_bytes(b"<html>")
    assert [len(entry.faults) for entry in Subject(tmp_path).headers] == [0, 0, 1]
    assert check_model(()) == ()


def test_unknown_architectures_are_asked_for_types_only(lines):
    """Shapes of a newer architecture are the engine's business."""

    def rename(whole):
        whole.keys = [(name.replace("qwen3moe", "newer"), kind, "newer" if value == "qwen3moe" else value)
                      for name, kind, value in whole.keys]  # fmt: skip

    assert lines(lambda whole: (rename(whole), whole.set_key("newer.embedding_length", "u32", 1))) == []
    found = lines(lambda whole: (rename(whole), typed("blk.1.attn_k.", 24, 1, 1)(whole)))
    assert [line.split(": ")[1] for line in found] == ["type of tensor 'blk.1.attn_k.weight'"]


def test_integers_of_a_table_are_data(lines):
    """A table from tokens to experts is looked up, not multiplied."""

    def add(whole):
        for layer in range(3):
            whole.tensors.append(Tensor(f"blk.{layer}.ffn_gate_tid2eid.weight", (2, 96), 26, bytes(768)))

    assert lines(add) == []
    assert Q8_0 == 8
