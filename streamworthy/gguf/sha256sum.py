r"""The format of ``sha256sum`` and ``SHA256SUMS`` files, read and written (coreutils manual, "md5sum invocation").

One line a file: 64 hexadecimal digits, a blank, a blank or ``*``, the name; with ``\``, newline or carriage return in
the name the line begins with ``\`` and they are escaped. ``--tag`` lines (``SHA256 (name) = digits``) are read too.
"""

from __future__ import annotations

import codecs
import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamworthy.errors import ProbeError
from streamworthy.gguf.other_sums import to_sha256sum

if TYPE_CHECKING:
    from pathlib import Path

_LONGEST_FILE = 16 * 2**20  # a manifest of 100,000 names; a model given by mistake is not read
_SHOWN_FAULTS = 5
_PLAIN = re.compile(r"(?P<escaped>\\?)(?P<digest>[0-9A-Fa-f]{32,})(?: [ *]|[ \t]+\*?)(?P<name>.+)", re.DOTALL)
_TAGGED = re.compile(r"(?P<escaped>\\?)SHA(?:2-)?256 ?\((?P<name>.+)\) ?= ?(?P<digest>[0-9A-Fa-f]{32,})", re.DOTALL)
_OTHER_TAG = re.compile(
    r"\\?(?P<algorithm>MD5|SHA1|SHA2?-?\d{3}|SHA3-\d{3}|BLAKE2[bs](?:-\d+)?|BLAKE3|SM3) ?\(.+\) ?= ?[0-9A-Fa-f]+"
)
_BARE = re.compile(r"(?P<digest>[0-9A-Fa-f]{64})")
_DIGITS = 64
_OTHER_SUMS = {32: "md5sum", 40: "sha1sum", 56: "sha224sum", 96: "sha384sum", 128: "sha512sum or b2sum"}
_ESCAPES = {r"\\": "\\", r"\n": "\n", r"\r": "\r"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SumLine:
    """One line: ``name`` is as written, without escapes, and empty for a file that holds nothing but a hash."""

    number: int  # 1-based
    digest: str  # lower-case
    name: str


def read_text(path: Path) -> str:
    """Read a text file that may be a manifest. ProbeError when it cannot be read or is no text."""
    try:
        with path.open("rb") as file:
            data = file.read(_LONGEST_FILE + 1)
    except OSError as error:
        raise ProbeError(
            f"{path}: cannot be read: {error.strerror}", fix="check the path and its permissions"
        ) from error
    text = _decode(data)
    if len(data) > _LONGEST_FILE or "\0" in text:
        raise ProbeError(f"{path}: not a text file, expected a manifest in sha256sum format", fix="check the path")
    return text


def _decode(data: bytes) -> str:
    """Decode what shells write: UTF-8, or UTF-16 with a mark (PowerShell's ``>``)."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", errors="replace")
    return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", errors="surrogateescape")


def parse_sha256sum(text: str, *, where: str) -> tuple[SumLine, ...]:
    """Parse a manifest but for blank lines and comments (``#``, ``;``). ProbeError names all faulty lines at once."""
    lines: list[SumLine] = []
    faults: list[str] = []
    for number, raw in enumerate(to_sha256sum(text).split("\n"), start=1):
        line = raw.removesuffix("\r")
        if not line.strip() or line.lstrip().startswith(("#", ";")):
            continue
        parsed = _parse_line(line, number)
        if isinstance(parsed, SumLine):
            lines.append(parsed)
        else:
            faults.append(parsed)
    faults += _contradictions(lines)
    if not lines and not faults:
        faults = ["no line with a hash"]
    if faults:
        more = f"; and {len(faults) - _SHOWN_FAULTS} more" if len(faults) > _SHOWN_FAULTS else ""
        raise ProbeError(
            f"{where}: not a manifest in sha256sum format: {'; '.join(faults[:_SHOWN_FAULTS])}{more}",
            fix="give the output of `sha256sum *.gguf` on a good copy: 64 hexadecimal digits, two blanks, the name",
        )
    return tuple(lines)


def _parse_line(line: str, number: int) -> SumLine | str:
    match = _PLAIN.fullmatch(line) or _TAGGED.fullmatch(line)
    if match is None:
        bare = _BARE.fullmatch(line.strip())
        if bare is not None:
            return SumLine(number=number, digest=bare["digest"].lower(), name="")
        tag = _OTHER_TAG.fullmatch(line)
        if tag is not None:
            return f"line {number}: found a hash of {tag['algorithm']}, expected one of SHA256"
        shown = "".join(letter if letter.isprintable() else "?" for letter in line[:40])
        return f"line {number}: found '{shown}', expected a hash and a name"
    digits = len(match["digest"])
    if digits != _DIGITS:
        other = f": is this from {_OTHER_SUMS[digits]}?" if digits in _OTHER_SUMS else ""
        return f"line {number}: found a hash of {digits} digits, expected {_DIGITS}{other}"
    name = match["name"]
    if match["escaped"]:
        name = re.sub(r"\\[\\nr]", lambda escape: _ESCAPES[escape[0]], name)
    return SumLine(number=number, digest=match["digest"].lower(), name=name)


def _contradictions(lines: list[SumLine]) -> list[str]:
    first: dict[str, SumLine] = {}
    faults = []
    for line in lines:
        known = first.setdefault(posixpath.normpath(line.name) if line.name else "", line)
        if known.digest != line.digest:
            name = line.name or "a hash without a name"
            faults.append(f"lines {known.number} and {line.number}: two different hashes for {name!r}")
    return faults


def format_sha256sum(hashes: dict[str, str]) -> str:
    """Write a manifest, name to digest, as ``sha256sum`` does and ``sha256sum -c`` reads."""
    return "".join(_format_line(name, digest) for name, digest in hashes.items())


def _format_line(name: str, digest: str) -> str:
    escaped = name.replace("\\", r"\\").replace("\n", r"\n").replace("\r", r"\r")
    return f"{chr(92) if escaped != name else ''}{digest}  {escaped}\n"
