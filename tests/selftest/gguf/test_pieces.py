"""Pieces of old uploads: their names, and the order in which they are joined."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamworthy.gguf.pieces import number_pieces, parse_piece
from streamworthy.gguf.shards import list_shards


@pytest.mark.parametrize(
    ("name", "whole"),
    [
        ("m.gguf-split-a", "m.gguf"),
        ("m.gguf.part1of2", "m.gguf"),
        ("m.gguf.part-aa", "m.gguf"),
        ("m.gguf.part1", "m.gguf"),
        ("m.gguf_part_00", "m.gguf"),
        ("m.gguf.split00", "m.gguf"),
        ("m.gguf.part-00001-of-00002", "m.gguf"),
        ("m.gguf-00001-of-00002", "m.gguf"),
        ("m.gguf.001", "m.gguf"),
        ("m.gguf.00", "m.gguf"),
        ("m.gguf.ab", "m.gguf"),
        ("m.gguf-ab", "m.gguf"),
        ("m.gguf.gz", None),
        ("m.gguf.md", None),
        ("m.gguf.1", None),
        ("m.gguf.part", None),
        ("m.gguf.st", None),
        ("m-00001-of-00002.gguf", None),
    ],
)
def test_pieces_of_old_uploads_are_no_shards(name, whole):
    """Files cut without headers have to be joined with cat, which is wrong for shards: the two are never confused."""
    found = parse_piece(name)
    assert (found.whole if found else None) == whole


@given(st.text())
def test_any_name_is_judged_without_an_error(name):
    """No file name makes the judging fail."""
    found = parse_piece(name)
    assert found is None or found.whole.lower().endswith(".gguf")


@pytest.mark.parametrize(
    ("names", "found"),
    [
        ([f"m.gguf.part{number}of12" for number in range(1, 13)], (range(1, 13), 12)),
        ([f"m.gguf-split-{letter}" for letter in "abc"], ((1, 2, 3), 3)),
        ([f"m.gguf-split-{letter}" for letter in "acd"], ((1, 3, 4), 4)),
        ([f"m.gguf.0{number}" for number in range(3)], ((1, 2, 3), 3)),
        ([f"m.gguf.part{number}" for number in (1, 2)], ((1, 2), 2)),
        ([f"m.gguf.part{number}" for number in (2, 3)], ((2, 3), 3)),
        (["m.gguf.part1of3"], ((1,), 3)),
        ([f"m.gguf.{one}" for one in ("az", "aa", "ba")], ((1, 26, 27), 27)),
    ],
)
def test_pieces_are_joined_by_what_their_names_count(names, found):
    """The tenth follows the ninth, and a gap is a piece that is not there."""
    numbers, count = found
    pieces = sorted(names, key=lambda name: parse_piece(name).place)
    assert number_pieces([*reversed(names), "n.gguf.part1"], "m.gguf") == (
        dict(zip(numbers, pieces, strict=True)),
        count,
    )


@pytest.mark.parametrize("given", ["", "m.gguf", "m.gguf.part2of2"])
def test_a_folder_any_piece_and_the_name_of_the_whole_lead_to_the_pieces(tmp_path, given):
    """Who names the file that is yet to be joined hears how."""
    for number in (1, 2):
        (tmp_path / f"m.gguf.part{number}of2").write_bytes(b"x")
    found = list_shards(tmp_path / given)
    assert (found.form, found.prefix, found.count, found.missing, found.others) == ("byte_split", "m.gguf", 2, (), ())


def test_a_file_that_was_joined_is_told_beside_its_pieces(tmp_path):
    """Joining once more would write over it."""
    for name in ("m.gguf", "m.gguf-split-a", "m.gguf-split-b"):
        (tmp_path / name).write_bytes(b"x")
    assert list_shards(tmp_path / "m.gguf-split-a").others == ("m.gguf",)
    assert list_shards(tmp_path).form == "plain"
