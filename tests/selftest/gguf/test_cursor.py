"""The bounded way through a file: never behind its end, never longer than a window in memory."""

import os
import struct
from dataclasses import replace

import pytest

from streamworthy.errors import ProbeError
from streamworthy.facts.gguf import GgufFault
from streamworthy.gguf.cursor import U32, WINDOW_BYTES, Broken, Cursor, GgufError, unreadable
from tests.selftest.gguf.build import text
from tests.selftest.gguf.test_reader import SOUND

FAULT = GgufFault(
    kind="key", offset_bytes=8, item="key 1", found="9", expected="8", cause="cut?", fix=("again", "or not")
)


@pytest.fixture
def cursor(tmp_path):
    """Open a file with these bytes."""
    opened = []

    def open_bytes(raw):
        (tmp_path / "f").write_bytes(raw)
        opened.append(os.open(tmp_path / "f", os.O_RDONLY))
        return Cursor(opened[-1], len(raw))

    yield open_bytes
    for descriptor in opened:
        os.close(descriptor)


def test_values_are_taken_one_after_another(cursor):
    """Each read begins where the one before ended."""
    here = cursor(struct.pack("<II", 7, 9) + text("ab") + b"rest")
    assert (here.take(U32, "a"), here.take(U32, "b"), here.take_text(9, "c"), here.take_bytes(4, "d")) == (
        (7,),
        (9,),
        "ab",
        b"rest",
    )
    assert here.position == here.limit


@pytest.mark.parametrize("left", [0, 1, 3])
def test_a_read_behind_the_end_names_what_was_wanted(cursor, left):
    """Four bytes where fewer are left: the fault has place, found and expected."""
    with pytest.raises(Broken) as caught:
        cursor(b"x" * left).take(U32, "version")
    fault = caught.value.fault
    assert (fault.kind, fault.offset_bytes, fault.item) == ("truncated", 0, "version")
    assert (fault.found, fault.expected) == (f"the end of the file after {left} bytes", "4 bytes")


@pytest.mark.parametrize(("length", "sound"), [(63, True), (64, True), (65, False)])
def test_a_text_is_bounded_by_what_is_believable(cursor, length, sound):
    """The bound is inclusive; the fault stands at the length and not behind it."""
    here = cursor(text("x" * length))
    if sound:
        assert here.take_text(64, "name") == "x" * length
        return
    with pytest.raises(Broken) as caught:
        here.take_text(64, "name")
    assert (caught.value.fault.kind, caught.value.fault.offset_bytes) == ("count", 0)


def test_bytes_that_are_no_text_are_written_out(cursor):
    """A name that is not UTF-8 does not stop the reading and can be printed."""
    assert cursor(text(b"a\xff")).take_text(9, "name") == "a\\xff"


@pytest.mark.parametrize("tail", [b"", b"after"])
def test_texts_are_walked_over_across_windows(cursor, tail):
    """However texts lie on the borders of windows, the walk ends behind the last."""
    words = [b"x" * length for length in (0, WINDOW_BYTES - 9, 1, 7, WINDOW_BYTES, 3 * WINDOW_BYTES, 0, 5)]
    raw = b"".join(map(text, words))
    here = cursor(raw + tail)
    here.skip_texts(len(words), "words")
    assert here.position == len(raw)


@pytest.mark.parametrize(
    ("length", "kind"),
    [(2**64 - 1, "count"), (2**63, "count"), (2**30 + 1, "count"), (2**30, "truncated"), (4, "truncated")],
)
def test_a_text_that_cannot_be_ends_the_walk(cursor, length, kind):
    """A length beyond the format's bound is damage; one beyond the file's end is a cut."""
    here = cursor(text("ab") + struct.pack("<Q", length) + b"xyz")
    with pytest.raises(Broken) as caught:
        here.skip_texts(2, "words")
    assert caught.value.fault.kind == kind


def test_a_file_that_shrinks_while_it_is_read_is_truncated(tmp_path):
    """A shorter read than the file's size promised is the end of the file, not a crash."""
    path = tmp_path / "m.gguf"
    path.write_bytes(SOUND)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        cursor = Cursor(descriptor, len(SOUND))
        os.truncate(path, 40)
        assert cursor.take_bytes(40, "what is left") == SOUND[:40]
        with pytest.raises(Broken) as caught:
            cursor.take_bytes(8, "what is gone")
    finally:
        os.close(descriptor)
    assert (caught.value.fault.kind, caught.value.fault.offset_bytes) == ("truncated", 40)


def test_an_error_lists_the_first_faults_and_every_remedy_once():
    """Five faults are spelled out, the rest counted; the first line is complete alone."""
    error = GgufError("m.gguf", [FAULT] * 7)
    assert error.message == "m.gguf: " + "; ".join([FAULT.line] * 5) + "; and 2 more"
    assert (error.fix, error.faults) == ("again\nor not", (FAULT,) * 7)


def test_a_fault_writes_itself_in_one_line():
    """A fault without a known cause ends after what was expected."""
    fault = replace(FAULT, cause="")
    assert fault.line == "byte 8: key 1: found 9, expected 8"
    assert FAULT.line == "byte 8: key 1: found 9, expected 8. cut?"


def test_what_the_system_refuses_is_no_fault_of_the_content(tmp_path):
    """The error says what the system said."""
    error = unreadable(tmp_path, PermissionError(13, "Permission denied"))
    assert isinstance(error, ProbeError)
    assert error.message == f"{tmp_path}: cannot be read: Permission denied"
