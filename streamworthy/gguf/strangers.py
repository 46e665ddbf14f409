"""Files that are not GGUF but lie where a shard should: what they are, and how to get the shard instead."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LfsPointer:
    """A Git LFS pointer file: the shard's hash and size, without the shard (git-lfs spec, version 1)."""

    sha256: str
    size_bytes: int


POINTER_BYTES = 1024  # a pointer is smaller, git-lfs spec
_POINTER = re.compile(rb"version https://git-lfs[^\n]*\n(?:[^\n]*\n)*?oid sha256:([0-9a-f]{64})\nsize ([0-9]{1,18})\n?")
_ARCHIVES = {
    b"PK\x03\x04": "a zip archive or a PyTorch checkpoint",
    b"\x1f\x8b": "compressed with gzip",
    b"(\xb5/\xfd": "compressed with zstd",
    b"\xfd7zXZ\x00": "compressed with xz",
    b"7z\xbc\xaf": "a 7z archive",
}
_OLD_FORMATS = {b"lmgg": "GGML", b"fmgg": "GGMF", b"tjgg": "GGJT", b"algg": "GGLA"}
_DOWNLOAD_AGAIN = "download the file again, with /resolve/ instead of /blob/ in its address"


def parse_pointer(head: bytes) -> LfsPointer | None:
    """Read a Git LFS pointer from a file's first bytes; None when it is none."""
    match = _POINTER.match(head)
    return None if match is None else LfsPointer(sha256=match[1].decode(), size_bytes=int(match[2]))


def recognise(head: bytes, name: str) -> tuple[str, tuple[str, ...]]:
    """Name what a file without GGUF's magic is: the likely cause as a question, and what to do.

    ``head`` holds the file's first bytes, a few hundred; ``name`` is used in the commands.
    """
    bare = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"version https://git-lfs"):
        pointer = parse_pointer(head)
        size = f" of a file of {pointer.size_bytes} bytes" if pointer else ""
        return f"a Git LFS pointer{size}: the content was not fetched?", (f'git lfs pull --include "{name}"',)
    if bare.startswith(b"<"):
        return "a web page, saved instead of the file?", (_DOWNLOAD_AGAIN,)
    if bare.startswith((b"{", b"[")) and _is_text(head):
        return "JSON: an error message of the server, saved instead of the file?", (_DOWNLOAD_AGAIN,)
    if not head.strip(b"\x00"):
        return "zeros: a download that allocates first and got no further?", ("resume or repeat the download",)
    if head.startswith(b"FUGG"):
        return "the magic is byte-swapped: written on a big-endian machine?", ("take the little-endian file",)
    return _recognise_format(head)


def _recognise_format(head: bytes) -> tuple[str, tuple[str, ...]]:
    for magic, what in _ARCHIVES.items():
        if head.startswith(magic):
            return f"{what}?", ("unpack it, or take the model's GGUF file",)
    if head[:4] in _OLD_FORMATS:
        return f"{_OLD_FORMATS[head[:4]]}, the format before GGUF (August 2023)?", ("take the model as GGUF",)
    if head[8:10] == b'{"':
        return "safetensors?", ("take the model as GGUF, or convert it with llama.cpp's convert_hf_to_gguf.py",)
    if _is_text(head):
        return "a text file?", (_DOWNLOAD_AGAIN,)
    return (
        "a piece of an old upload that has to be joined, or damaged?",
        ("join pieces named *.gguf-split-a or *.part1of2 with cat, otherwise download the file again",),
    )


def _is_text(head: bytes) -> bool:
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 3:  # a character cut at the end of what was read is no fault
            return False
        text = head[: error.start].decode("utf-8")
    return bool(text) and all(char.isprintable() or char in "\t\r\n" for char in text)
