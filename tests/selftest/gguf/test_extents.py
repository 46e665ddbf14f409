"""Extents: what is found about a file's length without reading its tensors."""

import os
from dataclasses import replace

import pytest

from streamworthy.facts.shards import EndReads, ExtentFacts, SetExtents
from streamworthy.gguf.subject import Subject
from tests.selftest.gguf.build import F32, Tensor, build

TENSORS = (Tensor("a", (1024, 16), F32, b"\x01" * 65536), Tensor("b", (25,), F32, b"\x02" * 100))
SOUND = build(tensors=TENSORS)
NEED = len(SOUND) - 28  # the last tensor is padded from 100 to 128 bytes
WHOLE = ExtentFacts(
    name="m.gguf",
    need_bytes=NEED,
    have_bytes=len(SOUND),
    outside_count=0,
    tensor_count=2,
    first_outside="",
    hole_bytes=0,
    first_hole_bytes=None,
    trailing_bytes=0,
    trailing_magic=False,
    ends=EndReads(extents_count=1, read_count=1, failed_byte=None, error=""),
)


@pytest.fixture
def probe(tmp_path):
    """Probe the extents of a file with these bytes."""

    def write_and_probe(raw):
        (tmp_path / "m.gguf").write_bytes(raw)
        return Subject(tmp_path / "m.gguf").extents

    return write_and_probe


def test_a_whole_file_holds_its_tensors(probe):
    """Need, have and count are as built."""
    assert probe(SOUND) == SetExtents(shards=(WHOLE,), cut=(), unread=())


@pytest.mark.parametrize(
    ("length", "outside", "first"),
    [(NEED, 0, ""), (NEED - 1, 1, "b"), (NEED - 100, 1, "b"), (NEED - 129, 2, "a"), (NEED - 60_000, 2, "a")],
)
def test_the_file_may_end_with_its_last_tensor_and_not_before(probe, length, outside, first):
    """The final padding may be missing, as engines accept it; one byte less is a tensor outside."""
    expected = replace(WHOLE, have_bytes=length, outside_count=outside, first_outside=first)
    assert probe(SOUND[:length]).shards == (expected,)


def test_bytes_behind_the_last_tensor_are_counted(probe):
    """They belong to no tensor."""
    assert probe(SOUND + b"junk").shards == (replace(WHOLE, have_bytes=len(SOUND) + 4, trailing_bytes=4),)


def test_a_file_joined_with_cat_has_another_header_behind_its_tensors(probe):
    """Shards that were joined like pieces show the next shard's magic."""
    expected = replace(WHOLE, have_bytes=2 * len(SOUND), trailing_bytes=len(SOUND), trailing_magic=True)
    assert probe(SOUND + SOUND).shards == (expected,)


@pytest.mark.parametrize(
    ("raw", "cut"), [(SOUND[:60], True), (b"", True), (b"<html>", False), (build(version=4), False)]
)
def test_a_file_without_readable_header_is_cut_or_unread(probe, raw, cut):
    """A file that ends inside its header was cut; one that is something else tells nothing about extents."""
    found = probe(raw)
    assert found.shards == ()
    assert (len(found.cut), len(found.unread)) == ((1, 0) if cut else (0, 1))


def test_a_range_that_was_never_written_is_a_hole(tmp_path):
    """A download that allocates first has the right size and holes."""
    path = tmp_path / "m.gguf"
    path.write_bytes(SOUND[:4096])
    os.truncate(path, len(SOUND))
    (found,) = Subject(path).extents.shards
    if found.first_hole_bytes is None:
        pytest.skip("this filesystem does not tell holes")
    assert (found.first_hole_bytes, found.hole_bytes, found.outside_count) == (4096, NEED - 4096, 0)
