"""Files that are not GGUF but lie where a shard should: what they are, and how to get the shard instead."""

from __future__ import annotations

import codecs
import re
import shlex
from dataclasses import dataclass

from streamworthy.gguf.answers import AGAIN, recognise_text


@dataclass(frozen=True, slots=True, kw_only=True)
class LfsPointer:
    """A Git LFS pointer file: the shard's hash and size, without the shard (git-lfs spec, version 1)."""

    sha256: str
    size_bytes: int


POINTER_BYTES = 1024  # a pointer is smaller, git-lfs spec
_POINTER = re.compile(
    rb"version https://git-lfs[^\n]*\n(?:[^\n]*\n)*?oid sha256:([0-9a-f]{64})\r?\nsize ([0-9]{1,18})\r?\n?"
)
_PACKED = {  # by their first bytes: what it is, and the command that unpacks it
    b"\x1f\x8b": ("compressed with gzip", "gzip -dc"),
    b"(\xb5/\xfd": ("compressed with zstd", "zstd -dc"),
    b"\xfd7zXZ\x00": ("compressed with xz", "xz -dc"),
    b"BZh": ("compressed with bzip2", "bzip2 -dc"),
    b"\x04\x22\x4d\x18": ("compressed with lz4", "lz4 -dc"),
    b"]\x00\x00": ("compressed with lzma", "xz -dc --format=lzma"),
    b"PK\x03\x04": ("a zip archive or a PyTorch checkpoint", "unzip"),
    b"7z\xbc\xaf": ("a 7z archive", "7z x"),
    b"Rar!": ("a rar archive", "unrar x"),
}
_TAR_MAGIC = slice(257, 262)
_CONVERT = "take the model as GGUF, or convert it with llama.cpp's convert_hf_to_gguf.py"
_OTHER_FILES = {
    b"\x80\x02": ("a PyTorch checkpoint", _CONVERT),
    b"\x89HDF": ("an HDF5 file, such as Keras writes", _CONVERT),
    b"PAR1": ("a Parquet file: a data set and no model", "take the model as GGUF"),
    b"\x93NUMPY": ("an array of NumPy", "take the model as GGUF"),
    b"SQLite": ("a database", "take the model as GGUF"),
    b"MZqFpD": ("a llamafile, a program with a model inside", "unzip {name} '*.gguf'    # takes the model out"),
    b"\x7fELF": ("a program", "take the model as GGUF"),
    b"\x00\x05\x16\x07": ("what macOS notes of another file (AppleDouble)", "name the file without ._ before it"),
    b"age-encryption.org": ("encrypted with age", "age -d {name} > DECRYPTED.gguf"),
    b"Salted__": ("encrypted with openssl enc", "decrypt it, or download the file again"),
    b"!<symlink>": ("a link as Cygwin writes it", "copy the files that the links lead to: cp -rL SOURCE FOLDER"),
}
_OLD_FORMATS = {b"lmgg": "GGML", b"fmgg": "GGMF", b"tjgg": "GGJT", b"algg": "GGLA"}
_TEXT_BEFORE = b"\xef\xbb\xbf \t\r\n"


def parse_pointer(head: bytes) -> LfsPointer | None:
    """Read a Git LFS pointer from a file's first bytes; None when it is none."""
    match = _POINTER.match(head)
    return None if match is None else LfsPointer(sha256=match[1].decode(), size_bytes=int(match[2]))


def recognise(head: bytes, name: str) -> tuple[str, tuple[str, ...]]:
    """Name what a file without GGUF's magic is: the likely cause as a question, and what to do.

    ``head`` holds the file's first bytes, a few hundred; ``name`` is used in the commands.
    """
    if head.startswith(b"version https://git-lfs"):
        pointer = parse_pointer(head)
        size = f" of a file of {pointer.size_bytes} bytes" if pointer else ""
        return f"a Git LFS pointer{size}: the content was not fetched?", (f'git lfs pull --include "{name}"',)
    if not head.strip(b"\x00"):
        return "zeros: a download that allocates first and got no further?", ("resume or repeat the download",)
    if head.startswith(b"FUGG"):
        return "the magic is byte-swapped: written on a big-endian machine?", ("take the little-endian file",)
    if head.lstrip(_TEXT_BEFORE).startswith(b"GGUF"):
        return "GGUF behind other bytes: sent through a tool for texts?", ("download the file again",)
    text = _text_of(head)
    answer = recognise_text(text, name) if text is not None else _recognise_markup(head, name)
    return answer or _recognise_format(head, name, is_text=text is not None)


def _recognise_markup(head: bytes, name: str) -> tuple[str, tuple[str, ...]] | None:
    """Recognise a page or headers whose end is no text, or in UTF-16."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return recognise_text(head.decode("utf-16", errors="ignore"), name)
    bare = head.removeprefix(codecs.BOM_UTF8).lstrip()
    return recognise_text(bare.decode("latin-1"), name) if bare.startswith((b"<", b"HTTP/")) else None


def _recognise_format(head: bytes, name: str, *, is_text: bool) -> tuple[str, tuple[str, ...]]:
    quoted = shlex.quote(name)
    packed = _recognise_packed(head, quoted, shlex.quote(f"unpacked-{name}"))
    if packed is not None:
        return packed
    if head[:4] in _OLD_FORMATS:
        return f"{_OLD_FORMATS[head[:4]]}, the format before GGUF (August 2023)?", ("take the model as GGUF",)
    if head[8:10] == b'{"':
        return "safetensors?", (_CONVERT,)
    for magic, (what, fix) in _OTHER_FILES.items():
        if head.startswith(magic):
            return f"{what}?", (fix.format(name=quoted),)
    if is_text:
        return "a text file?", (AGAIN,)
    return (
        "a piece of an old upload that has to be joined, or damaged?",
        ("join pieces named *.gguf-split-a or *.part1of2 with cat, otherwise download the file again",),
    )


def _recognise_packed(head: bytes, name: str, output: str) -> tuple[str, tuple[str, ...]] | None:
    found = next(((what, command) for magic, (what, command) in _PACKED.items() if head.startswith(magic)), None)
    if head[_TAR_MAGIC] == b"ustar":
        found = ("a tar archive", "tar xf")
    if found is None:
        return None
    what, command = found
    to = f" > {output}" if "-dc" in command else ""
    return f"{what}?", (f"{command} {name}{to}    # or take the model's GGUF file",)


def _text_of(head: bytes) -> str | None:
    """Give the text that the bytes are; None for bytes that are none."""
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 3:  # a character cut at the end of what was read is no fault
            return None
        text = head[: error.start].decode("utf-8")
    text = text.removeprefix("\ufeff")
    return text if text and all(char.isprintable() or char in "\t\r\n" for char in text) else None
