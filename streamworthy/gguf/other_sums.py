"""Hashes as other programs write them, turned into lines of sha256sum; every line keeps its number.

PowerShell's ``Get-FileHash`` (a table, or with ``Format-List`` three lines a file), Windows' ``certutil -hashfile``
(the name's line, the hash's line, a line of its own), and manifests inside of a clear-signed OpenPGP message.
"""

from __future__ import annotations

import re

_TABLE_HEAD = re.compile(r"\s*Algorithm\s+Hash\s+Path\s*|\s*-+\s+-+\s+-+\s*")
_TABLE_LINE = re.compile(r"SHA256\s+(?P<digest>[0-9A-F]{64})\s+(?P<name>\S.*?)\s*", re.IGNORECASE)
_LIST_LINE = re.compile(r"(?P<field>Algorithm|Hash|Path)\s*:\s(?P<value>.*?)\s*")
_CERTUTIL_NAME = re.compile(
    r"SHA256 hash of (?:file )?(?P<name>.+?):?\s*|SHA256.*?(?P<other>[^\s/\\:]+\.gguf).*", re.IGNORECASE
)
_CERTUTIL_END = "CertUtil:"
_SPACED = re.compile(r"[0-9a-f]{2}(?: ?[0-9a-f]{2}){31}", re.IGNORECASE)
_SIGNED, _SIGNATURE = "-----BEGIN PGP SIGNED MESSAGE-----", "-----BEGIN PGP SIGNATURE-----"


def to_sha256sum(text: str) -> str:
    """Give the text with the lines of these programs in sha256sum's form; other lines are left as they are."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if lines[0].startswith(_SIGNED):
        return "\n".join(_from_signed(lines))
    if any(line.startswith(_CERTUTIL_END) for line in lines):
        return "\n".join(_from_certutil(lines))
    if any(_LIST_LINE.fullmatch(line) for line in lines):
        return "\n".join(_from_list(lines))
    if any(_TABLE_HEAD.fullmatch(line) for line in lines):
        return "\n".join(_from_table(line) for line in lines)
    return text


def _from_table(line: str) -> str:
    match = _TABLE_LINE.fullmatch(line)
    if match:
        return f"{match['digest']}  {match['name']}"
    return "" if _TABLE_HEAD.fullmatch(line) else line


def _from_list(lines: list[str]) -> list[str]:
    out, seen = list(lines), dict[str, str]()
    for index, line in enumerate(lines):
        match = _LIST_LINE.fullmatch(line)
        if match is None:
            continue
        seen[match["field"]], out[index] = match["value"], ""
        if match["field"] == "Path":
            if seen.get("Algorithm", "").upper() == "SHA256" and "Hash" in seen:
                out[index] = f"{seen['Hash']}  {seen['Path']}"
            else:
                out[index] = line  # another algorithm: what stands there is told
            seen = {}
    return out


def _from_certutil(lines: list[str]) -> list[str]:
    out, name = list(lines), ""
    for index, line in enumerate(lines):
        match = _CERTUTIL_NAME.fullmatch(line)
        if match:
            name, out[index] = match["name"] or match["other"], ""
        elif name and _SPACED.fullmatch(line.strip()):
            out[index], name = f"{line.replace(' ', '').strip()}  {name}", ""
        elif line.startswith(_CERTUTIL_END):
            out[index] = ""
    return out


def _from_signed(lines: list[str]) -> list[str]:
    """Blank what is no text of the message; who signed it is not asked."""
    begin = next((index for index, line in enumerate(lines) if not line.strip()), len(lines))
    end = next((index for index, line in enumerate(lines) if line.startswith(_SIGNATURE)), len(lines))
    return [line.removeprefix("- ") if begin < index < end else "" for index, line in enumerate(lines)]
