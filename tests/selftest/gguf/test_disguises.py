"""Names of shards on what is none: the first header tells."""

import pytest

from streamworthy.gguf.subject import Subject
from tests.selftest.differential.model import make_set, make_whole
from tests.selftest.gguf.build import build

NAMES = tuple(f"tiny-{number:05d}-of-00003.gguf" for number in (1, 2, 3))


@pytest.fixture
def form(tmp_path):
    """Write contents under the names of three shards and give the form, the count and what is missing."""

    def write_and_list(*contents):
        for name, raw in zip(NAMES, contents, strict=False):
            (tmp_path / name).write_bytes(raw)
        found = Subject(tmp_path).listing
        return found.form, found.prefix, found.count, found.missing

    return write_and_list


def test_a_whole_model_alone_is_one_file(form):
    """The engine loads it, and misses no other shard."""
    assert form(make_whole().raw()) == ("plain", "tiny-00001-of-00003", 1, ())


def test_a_whole_model_that_is_cut_short_is_a_first_shard_still(form):
    """Nothing says whether the rest is in the other files."""
    assert form(make_whole().raw()[:-64]) == ("set", "tiny", 3, (2, 3))


def test_a_first_shard_alone_misses_the_others(form):
    """Its split keys tell that there are more."""
    assert form(make_set()[0].raw()) == ("set", "tiny", 3, (2, 3))


def test_a_whole_model_beside_other_shards_is_a_set(form):
    """The headers are for the gate to judge."""
    assert form(make_whole().raw(), *(shard.raw() for shard in make_set()[1:])) == ("set", "tiny", 3, ())


def test_files_that_add_up_to_the_first_header_s_model_are_pieces(form):
    """A header that needs exactly the bytes of all of them was cut, and cat joins it."""
    raw = make_whole().raw()
    assert form(raw[:60_000], raw[60_000:99_000], raw[99_000:]) == ("byte_split", "tiny.gguf", 3, ())


def test_files_that_do_not_add_up_are_a_set(form):
    """Joining them would give no model."""
    raw = make_whole().raw()
    assert form(raw[:60_000], raw[60_000:99_000], raw[99_000:-64])[0] == "set"


def test_a_broken_first_header_says_nothing(form):
    """What is no GGUF is judged by the gate for headers."""
    assert form(b"<html>") == ("set", "tiny", 3, (2, 3))
    assert form(build(tensors=())) == ("set", "tiny", 3, (2, 3))
