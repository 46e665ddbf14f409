"""Typed access to a model's keys: what is there, what is absent, and what is of another kind."""

import pytest

from streamworthy.errors import ProbeError
from streamworthy.facts.gguf import SkippedValue
from streamworthy.gguf.metadata import Metadata


def metadata(**keys):
    """Make the keys of a llama; two underscores stand for a dot."""
    named = {"llama." + key.replace("__", "."): value for key, value in keys.items()}
    return Metadata("m.gguf", {"general.architecture": "llama", "general.name": "A name"} | named)


def test_an_architecture_is_required():
    """A later shard, or something else, has none."""
    with pytest.raises(ProbeError, match=r"m\.gguf: general\.architecture: not found"):
        Metadata("m.gguf", {})


def test_what_is_there_is_given_and_what_is_absent_is_none():
    """Texts are empty when absent, numbers None."""
    keys = metadata(block_count=3)
    assert (keys.text("general.name"), keys.text("general.author")) == ("A name", "")
    assert (keys.find("block_count"), keys.find("expert_count"), keys.number("block_count")) == (3, None, 3)


@pytest.mark.parametrize("value", ["3", -1, 2**32, 0.5, (1, 2)])
def test_a_number_of_another_kind_is_named(value):
    """The error has file, key, found and expected."""
    with pytest.raises(ProbeError, match=r"m\.gguf: llama\.block_count: found .* expected a whole number"):
        metadata(block_count=value).find("block_count")


def test_an_absent_number_that_is_needed_is_named():
    """The error says that nothing was found."""
    with pytest.raises(ProbeError, match=r"llama\.embedding_length: found nothing"):
        metadata().number("embedding_length")


@pytest.mark.parametrize(
    ("value", "found"),
    [(2, (2, 2, 2)), ((1, 2, 3), (1, 2, 3)), ((1, 2, 3, 4), (1, 2, 3)), ((True, False, True), (1, 0, 1))],
)
def test_one_number_holds_for_all_layers_or_each_has_its_own(value, found):
    """Longer arrays, which count layers of multi-token prediction, are cut."""
    assert metadata(x=value).per_layer("x", 3) == found


@pytest.mark.parametrize("value", [(1, 2), ("a",), SkippedValue(type_name="u32", count=9999, offset_bytes=9), None])
def test_too_few_or_other_values_are_named(value):
    """An array shorter than the layers cannot be used."""
    with pytest.raises(ProbeError, match=r"one for each of 3 layers"):
        metadata(**({} if value is None else {"x": value})).per_layer("x", 3)


def test_an_absent_array_has_the_default():
    """Zero, where a model without experts says nothing."""
    assert metadata().per_layer("x", 2, 0) == (0, 0)


@pytest.mark.parametrize(("count", "sound"), [(0, False), (1, True), (512, True), (513, False)])
def test_layers_are_bounded_as_in_the_engine(count, sound):
    """llama.cpp has room for 512."""
    keys = metadata(block_count=count)
    if sound:
        assert keys.all_layers == count
        return
    with pytest.raises(ProbeError, match="expected 1 to 512"):
        _ = keys.all_layers


def test_layers_of_multi_token_prediction_do_not_decode():
    """They are in the file's count."""
    keys = metadata(block_count=79, nextn_predict_layers=1)
    assert (keys.all_layers, keys.layers) == (79, 78)


def test_the_vocabulary_is_counted_or_told():
    """A file without tokens may say how many there are."""
    tokens = SkippedValue(type_name="str", count=5, offset_bytes=0)
    counted = Metadata("m", {"general.architecture": "x", "tokenizer.ggml.tokens": tokens, "x.vocab_size": 9})
    assert (counted.vocabulary_count, metadata(vocab_size=9).vocabulary_count, metadata().vocabulary_count) == (5, 9, 0)
