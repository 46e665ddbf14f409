"""Files that lie where a shard should: see test_reader for each kind of file as a whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamworthy.gguf.strangers import LfsPointer, parse_pointer, recognise

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0123456789abcdef" * 4 + b"\nsize 4242\n"


def test_a_pointer_gives_hash_and_size():
    """Both can serve as the manifest of what was not fetched."""
    assert parse_pointer(POINTER) == LfsPointer(sha256="0123456789abcdef" * 4, size_bytes=4242)


def test_a_pointer_with_extensions_is_read():
    """The specification allows lines between version and oid."""
    assert parse_pointer(POINTER.replace(b"\noid", b"\next-0-foo sha256:00\noid")) == parse_pointer(POINTER)


@pytest.mark.parametrize(
    "raw", [b"", b"GGUF", POINTER[:60], POINTER.replace(b"size", b"sice"), POINTER.replace(b"4242", b"much")]
)
def test_what_is_no_pointer_is_none(raw):
    """A damaged pointer gives no hash and no size."""
    assert parse_pointer(raw) is None


def test_a_damaged_pointer_is_still_recognised():
    """The remedy is the same."""
    cause, fix = recognise(POINTER[:60], "m x.gguf")
    assert cause == "a Git LFS pointer: the content was not fetched?"
    assert fix == ('git lfs pull --include "m x.gguf"',)


def test_a_text_cut_inside_of_a_character_is_text():
    """Only the first bytes are looked at, and they may end anywhere."""
    assert recognise("Grüße, überall ä".encode()[:-1], "m")[0] == "a text file?"


@given(st.binary(max_size=64))
def test_anything_gets_a_question_and_a_remedy(head):
    """No bytes are without an answer."""
    cause, fix = recognise(head, "m.gguf")
    assert cause.endswith("?")
    assert fix
