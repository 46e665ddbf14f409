"""The sha256sum format: what is read, what is refused, and that the real sha256sum agrees."""

import hashlib
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamworthy.errors import ProbeError
from streamworthy.gguf.sha256sum import SumLine, format_sha256sum, parse_sha256sum, read_text

A, B = "a" * 64, "b" * 64
SOUND = f"{A}  one.gguf\n{B} *two.gguf\n"


def parse(text):
    """Parse with a file name that messages can be compared by."""
    return parse_sha256sum(text, where="SHA256SUMS")


def line(number, digest, name):
    """One expected line."""
    return SumLine(number=number, digest=digest, name=name)


def test_text_and_binary_lines():
    """Both of sha256sum's modes are read, each with its line number."""
    assert parse(SOUND) == (line(1, A, "one.gguf"), line(2, B, "two.gguf"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SOUND.replace("\n", "\r\n"), (line(1, A, "one.gguf"), line(2, B, "two.gguf"))),
        (f"# made on a good copy\n\n{A}  one.gguf", (line(3, A, "one.gguf"),)),
        (f"{A.upper()}  one.gguf", (line(1, A, "one.gguf"),)),
        (f"{A} one.gguf", (line(1, A, "one.gguf"),)),
        (f"{A}\tone.gguf", (line(1, A, "one.gguf"),)),
        (f"{A}  a name with blanks.gguf", (line(1, A, "a name with blanks.gguf"),)),
        (f"{A}   leading.gguf", (line(1, A, " leading.gguf"),)),
        (f"\\{A}  a\\nb\\\\c.gguf", (line(1, A, "a\nb\\c.gguf"),)),
        (f"{A}  a\\nb.gguf", (line(1, A, "a\\nb.gguf"),)),
        (f"SHA256 (one.gguf) = {A}", (line(1, A, "one.gguf"),)),
        (f"{A}  one.gguf\n{A}  ./one.gguf\n", (line(1, A, "one.gguf"), line(2, A, "./one.gguf"))),
        (A, (line(1, A, ""),)),
    ],
    ids=[
        "CRLF", "comment", "upper case", "one blank", "tab", "blanks", "leading blank", "escaped",
        "not escaped", "tagged", "repeated", "bare",
    ],
)  # fmt: skip
def test_variants(text, expected):
    """What the tools of the field write is read as they mean it."""
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no line with a hash"),
        ("# only a comment\n", "no line with a hash"),
        (f"{A}  one.gguf\n<html>\n", "line 2: found '<html>', expected a hash and a name"),
        (f"{'a' * 63}  one.gguf", "line 1: found a hash of 63 digits, expected 64"),
        (f"{'a' * 32}  one.gguf", "line 1: found a hash of 32 digits, expected 64: is this from md5sum?"),
        (f"{'a' * 128}  one.gguf", "line 1: found a hash of 128 digits, expected 64: is this from sha512sum or b2sum?"),
        (SOUND + f"{B}  ./one.gguf", "lines 1 and 3: two different hashes for './one.gguf'"),
        ("\x1b[31mred\n", "line 1: found '?[31mred', expected a hash and a name"),
    ],
)
def test_faults(text, message):
    """A fault is one line that names the file, the line, what was found and what was expected."""
    with pytest.raises(ProbeError) as caught:
        parse(text)
    assert caught.value.message == f"SHA256SUMS: not a manifest in sha256sum format: {message}"


def test_all_faults_at_once():
    """Every faulty line is named, up to five; the rest is counted."""
    with pytest.raises(ProbeError, match=r"line 1: .*line 5: [^;]*; and 2 more\n"):
        parse("broken\n" * 7)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_marks_of_encodings(tmp_path, encoding):
    """What Windows editors and PowerShell write is read like plain UTF-8."""
    file = tmp_path / "SHA256SUMS"
    file.write_bytes(SOUND.encode(encoding))
    assert parse(read_text(file)) == parse(SOUND)


def test_a_model_given_as_manifest(tmp_path):
    """A binary file is said to be none, without being printed."""
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF\x03\x00\x00\x00")
    with pytest.raises(ProbeError, match=r"model\.gguf: not a text file"):
        read_text(file)


def test_an_absent_manifest(tmp_path):
    """A path that is not there is named."""
    with pytest.raises(ProbeError, match=r"nothing: cannot be read: No such file"):
        read_text(tmp_path / "nothing")


@given(st.dictionaries(st.text(st.characters(exclude_characters="\0/", codec="utf-8"), min_size=1), st.just(A)))
def test_written_is_read_back(hashes):
    """Any file name survives writing and reading."""
    names = {name: digest for name, digest in hashes.items() if name not in (".", "..")}
    if names:
        assert {entry.name: entry.digest for entry in parse(format_sha256sum(names))} == names


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="no sha256sum here")
@pytest.mark.parametrize("name", ["plain.gguf", "a\nb.gguf", "a\\b.gguf", " blank.gguf", "*star.gguf"])
def test_the_real_sha256sum_agrees(tmp_path, name):
    """What sha256sum writes is read, and what we write it accepts."""
    (tmp_path / name).write_bytes(b"content")
    digest = hashlib.sha256(b"content").hexdigest()
    told = subprocess.run(["sha256sum", "--", name], cwd=tmp_path, capture_output=True, check=True)
    assert parse(told.stdout.decode()) == (line(1, digest, name),)
    (tmp_path / "sums").write_text(format_sha256sum({name: digest}))
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "sums"], cwd=tmp_path, check=True)
