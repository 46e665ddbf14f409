"""Files that lie where a shard should: see test_reader for each kind of file as a whole."""

import bz2
import gzip
import io
import lzma
import pickle
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamworthy.gguf.strangers import LfsPointer, parse_pointer, recognise
from tests.selftest.gguf.build import build

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0123456789abcdef" * 4 + b"\nsize 4242\n"


def tarred(raw):
    """Pack bytes as a file of an archive."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        entry = tarfile.TarInfo("m.gguf")
        entry.size = len(raw)
        archive.addfile(entry, io.BytesIO(raw))
    return out.getvalue()


SOUND = build()
STRANGERS = {
    "an unknown repository": (b'{"error":"Repository not found"}', "the server has no such file"),
    "an unknown file": (b"Entry not found", "the server has no such file"),
    "a gated model": (
        b"Access to model o/r is restricted. You must be authenticated to access it.",
        "the server refused access",
    ),
    "a storage's refusal": (
        b'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>AccessDenied</Code></Error>',
        "XML: an error message of the server, saved instead of the file: the server refused access",
    ),
    "an old address": (
        b"<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>",
        "good for a time only",
    ),
    "a busy server": (b"<html><head><title>502 Bad Gateway</title></head>", "too busy or broken"),
    "a page in UTF-16": ("<html>".encode("utf-16"), "a web page"),
    "headers of the server": (b"HTTP/2 200 \r\ncontent-type: x\r\n\r\nGGUF\xff\xfe", "curl -i"),
    "a pointer with Windows' lines": (
        b"version https://git-lfs.github.com/spec/v1\r\noid sha256:" + b"a" * 64 + b"\r\nsize 4242\r\n",
        "Git LFS pointer of a file of 4242 bytes",
    ),
    "a Xet pointer": (b'# xet version 0\nfilesize = 12\nhash = "ab"\n', "Xet pointer"),
    "a DVC pointer": (b"outs:\n- md5: a304afb96060aad90176268345e10355\n  size: 9\n", "DVC pointer"),
    "an annex pointer": (b"/annex/objects/SHA256E-s9--aa.gguf\n", "git-annex pointer"),
    "an annex link": (b"../.git/annex/objects/aa/bb/SHA256E-s9--aa.gguf/x", "git-annex pointer"),
    "a link as text": (b"../../blobs/" + b"a" * 64, "the target of a link (../../blobs/aaa"),
    "a shortcut": (b"[InternetShortcut]\r\nURL=https://huggingface.co/o/r\r\n", "a shortcut"),
    "text before it": (b"\xef\xbb\xbfGGUF\x03\0\0\0", "GGUF behind other bytes"),
    "bzip2": (bz2.compress(SOUND), "bzip2"),
    "xz": (lzma.compress(SOUND), "xz"),
    "lzma": (lzma.compress(SOUND, format=lzma.FORMAT_ALONE), "lzma"),
    "tar": (tarred(SOUND), "a tar archive"),
    "pickle": (pickle.dumps({"a": 1}, protocol=2), "PyTorch"),
    "llamafile": (b"MZqFpD='\n\n\0\x10\xf8" + bytes(60), "llamafile"),
    "AppleDouble": (b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X        ", "AppleDouble"),
    "gzip": (gzip.compress(SOUND), "gzip"),
}


@pytest.mark.parametrize("kind", STRANGERS)
def test_what_lies_in_a_file_s_place_is_named(kind):
    """The cause is a question that names what it is, from its first bytes."""
    raw, words = STRANGERS[kind]
    cause, fix = recognise(raw[:512], "m x.gguf")
    assert words in cause
    assert cause.endswith("?")
    assert fix


@pytest.mark.parametrize(
    ("raw", "fix"),
    [
        (gzip.compress(SOUND), "gzip -dc 'm x.gguf' > 'unpacked-m x.gguf'"),
        (tarred(SOUND), "tar xf 'm x.gguf'"),
        (b"Access to model o/r is restricted.", "hf auth login"),
        (b'{"error":"Repository not found"}', "compare repository, revision and file name"),
        (b"<Error><Code>ExpiredToken</Code></Error>", "an address that was made anew"),
        (b"<!doctype html><title>o/r at main</title><a>Log In</a>", "/resolve/ instead of /blob/"),
        (b"../../blobs/aa", "cp -rL"),
    ],
)
def test_the_remedy_is_that_of_the_cause(raw, fix):
    """Who was refused does not download again, and who fetched the wrong page does not log in."""
    assert any(fix in line for line in recognise(raw[:512], "m x.gguf")[1])


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
