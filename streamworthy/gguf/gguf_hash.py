"""The format of llama.cpp's ``llama-gguf-hash``: a hash of each tensor's data, and of all of a file's tensors together.

A line is ``sha256    <digest>  <file>:<tensor>`` or, for all tensors one after the other in the order of their table,
``sha256    <digest>  <file>``; ``<file>`` is the path that the tool was given. ``xxh64`` and ``sha1`` lines may stand
beside it; ``uuid`` lines are an id and not a check. Padding, keys and vocabulary are in no hash.
Source: examples/gguf-hash/gguf-hash.cpp, July 2026.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_LINE = re.compile(r"(?P<algorithm>xxh64|sha1|sha256|uuid) +(?P<digest>[0-9A-Fa-f-]{16,64})  ?(?P<name>\S.*)")
_NAME = re.compile(r"(?:.*[/\\])?(?P<file>[^/\\]{1,255}?\.gguf)(?::(?P<tensor>.+))?", re.IGNORECASE)
_DIGITS = {"sha256": 64, "sha1": 40, "xxh64": 16}  # from the one that proves most
_LONGEST_LINE = 8192
ALGORITHMS = tuple(_DIGITS)


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorLine:
    """One line; ``tensor`` is empty for the hash of all tensors of the file."""

    number: int  # 1-based
    algorithm: str
    digest: str  # lower-case
    file: str  # its name without folders
    tensor: str


def split_manifest(text: str) -> tuple[tuple[TensorLine, ...], str]:
    """Take the lines of this format out of a manifest; gives them, and the text with empty lines in their place."""
    found: list[TensorLine] = []
    rest: list[str] = []
    for number, raw in enumerate(text.split("\n"), start=1):
        match = _LINE.fullmatch(raw.removesuffix("\r")) if len(raw) <= _LONGEST_LINE else None
        line = _line_of(match, number) if match else None
        if line is not None:
            found.append(line)
        rest.append("" if line or (match and match["algorithm"] == "uuid") else raw)
    return tuple(found), "\n".join(rest)


def _line_of(match: re.Match[str], number: int) -> TensorLine | None:
    """Give the line; None for an id, a digest of the wrong length, and a name that is no GGUF file's."""
    name = _NAME.fullmatch(match["name"])
    if name is None or len(match["digest"]) != _DIGITS.get(match["algorithm"]):
        return None
    return TensorLine(
        number=number,
        algorithm=match["algorithm"],
        digest=match["digest"].lower(),
        file=name["file"],
        tensor=name["tensor"] or "",
    )


def format_gguf_hash(algorithm: str, file: str, tensors: Iterable[tuple[str, str]], whole: str) -> str:
    """Write the lines of one file as the tool does, which checks them with ``--check``."""
    lines = [f"{algorithm:8}  {digest}  {file}:{name}\n" for name, digest in tensors]
    return "".join([*lines, f"{algorithm:8}  {whole}  {file}\n"])
