"""The format of llama-gguf-hash: its own output is read, and what is written is what it writes."""

from pathlib import Path

import pytest

from streamworthy.gguf.gguf_hash import TensorLine, format_gguf_hash, split_manifest

FIXTURE = Path(__file__).parents[3] / "fixtures" / "manifests" / "gguf-hash-tiny.manifest"
A = "a" * 64


def test_the_tools_own_output():
    """Three algorithms for each tensor and for each file, none left over."""
    lines, rest = split_manifest(FIXTURE.read_text(encoding="utf-8"))
    assert len(lines) == 126
    assert not rest.strip()
    assert {line.algorithm for line in lines} == {"sha256", "sha1", "xxh64"}
    assert [line.tensor for line in lines[:4]] == ["token_embd.weight"] * 3 + ["blk.0.attn_norm.weight"]
    assert sum(not line.tensor for line in lines) == 9


def test_what_is_written_is_what_the_tool_writes():
    """Byte for byte."""
    text = FIXTURE.read_text(encoding="utf-8")
    lines = [line for line in split_manifest(text)[0] if line.algorithm == "sha1" and "00002" in line.file]
    written = format_gguf_hash(
        "sha1", lines[0].file, [(line.tensor, line.digest) for line in lines[:-1]], lines[-1].digest
    )
    assert written in "".join(line for line in text.splitlines(keepends=True) if line.startswith("sha1 "))


@pytest.mark.parametrize(
    ("name", "file", "tensor"),
    [
        ("m.gguf:output.weight", "m.gguf", "output.weight"),
        ("./models/m.gguf:a", "m.gguf", "a"),
        (r"C:\models\m x.gguf:a", "m x.gguf", "a"),
        ("/a/b:c/m.gguf", "m.gguf", ""),
        ("m.gguf:a/b", "m.gguf", "a/b"),
        ("m.gguf:a.gguf:b", "m.gguf", "a.gguf:b"),
    ],
)
def test_names(name, file, tensor):
    """The path that the tool was given, and the tensor behind a colon."""
    (line,), _ = split_manifest(f"sha256    {A}  {name}\n")
    assert line == TensorLine(number=1, algorithm="sha256", digest=A, file=file, tensor=tensor)


def test_other_lines_are_left_with_their_numbers():
    """A file may hold sha256sum lines too; ids are no check, and a digest of a wrong length is nobody's line."""
    first, last = f"# a\n{A}  m.gguf\n", f"\nsha1      {A}  m.gguf:b\n"
    text = f"{first}sha256    {A.upper()}  m.gguf:a\r\nuuid      0-0-0-0-0-0-0-00000  m.gguf{last}"
    lines, rest = split_manifest(text)
    assert [(line.number, line.digest) for line in lines] == [(3, A)]
    assert rest == f"{first}\n{last}"


def test_a_very_long_line_is_left():
    """It is no name of a tensor."""
    text = f"sha256    {A}  m.gguf:{'x' * 10_000}"
    assert split_manifest(text) == ((), text)
