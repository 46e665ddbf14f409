"""What to name instead, where a path leads to no model: looks at names, and at the first bytes of nameless files."""

from __future__ import annotations

import re
import shlex
import stat
from typing import TYPE_CHECKING

from streamworthy.gguf.names import is_companion, is_model, parse_leftover

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

_MOST_NAMED = 20
_MOST_OPENED = 200  # files of which the first bytes are looked at
_ANY = "name any shard of the model, or the folder that holds them"
_ADDRESS = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]{1,15}):/+(?P<rest>.+)", re.IGNORECASE)  # Path makes // a single /
_HUB = re.compile(r"(?:www\.)?(?:huggingface\.co|hf\.co|hf-mirror\.com)/(?P<repository>[\w.-]+/[\w.-]+)(?P<rest>.*)")
_HUB_FILE = re.compile(r"/(?:resolve|blob|raw)/[^/]+/(?P<file>[^?]+)")
_REPOSITORY = re.compile(r"(?P<repository>[\w.-]+/[\w.-]+?)(?::(?P<quant>[\w.-]+))?")
_OTHER_FORMAT = re.compile(r".+\.(?:safetensors|pth|pt|bin|onnx)", re.IGNORECASE)
_ARCHIVE = re.compile(r".+\.(?:zst|gz|xz|bz2|lz4|zip|7z|rar|tar|tgz)(?:\.\d{2,3})?", re.IGNORECASE)


def suggest(given: str, path: Path, names: Sequence[str]) -> str:
    """Say what to name instead of a path that is not there. ``names`` are those in its folder, if it is one."""
    address = _ADDRESS.fullmatch(given)
    if address:
        return _download(address["scheme"].lower(), address["rest"])
    if given.startswith("~"):
        return f'the shell did not put your home in the place of ~: --model "$HOME{given[1:]}"'
    models = [name for name in names if is_model(name)]
    if models:
        return f"this folder has: {', '.join(models[:_MOST_NAMED])}"
    if names:
        return look_beside(path.parent, names)
    repository = _REPOSITORY.fullmatch(given)
    if repository and not path.parent.exists():
        return f"if it is a repository of Hugging Face: {_fetch(repository['repository'], repository['quant'] or '')}"
    return _ANY


def _download(scheme: str, rest: str) -> str:
    """Say how to fetch what an address names: a model is judged where it lies."""
    hub = _HUB.fullmatch(rest) if scheme.startswith("http") else None
    if scheme == "file":
        return f"--model {shlex.quote('/' + rest.removeprefix('localhost/').lstrip('/'))}"
    if scheme in ("hf", "huggingface"):
        parts = rest.split("/")
        return f"download it first: {_fetch('/'.join(parts[:2]), '')}"
    if hub:
        file = _HUB_FILE.match(hub["rest"])
        return f"download it first: {_fetch(hub['repository'], file['file'] if file else '')}"
    return "download it first: every shard into one folder, and then --model FOLDER"


def _fetch(repository: str, part: str) -> str:
    pattern = re.sub(r"-\d{5}-of-(\d{5})", r"-*-of-\1", part) if part.endswith(".gguf") else f"*{part}*.gguf"
    return f"hf download {repository} --include {shlex.quote(pattern.replace('**', '*'))} --local-dir FOLDER"


def look_below(folder: Path, names: Sequence[str]) -> str:
    """Say what to name instead of a folder without a model."""
    below = sorted(
        str(found.parent.relative_to(folder))
        for pattern in ("*/*.gguf", "*/*/*.gguf", "*/*/*/*.gguf")
        for found in folder.glob(pattern)
        if not any(part.startswith("._") for part in found.relative_to(folder).parts)  # of macOS and modelscope
    )
    if below and not any(parse_leftover(name) for name in names):
        return f"give --model one of its folders: {', '.join(dict.fromkeys(below[: 50 * _MOST_NAMED]))}"
    return look_beside(folder, names)


def look_beside(folder: Path, names: Sequence[str]) -> str:
    """Say of the other files in a folder what they could be: unfinished, packed, or models under another name."""
    kinds = (
        ("a download is not finished", parse_leftover),
        ("unpack them first", _ARCHIVE.fullmatch),
        ("download the model itself; these only go beside one", is_companion),
        ("take the model as GGUF, or convert it with convert_hf_to_gguf.py", _OTHER_FORMAT.fullmatch),
    )
    for sentence, is_kind in kinds:
        found = [name for name in names if is_kind(name)]
        if found:
            return f"{sentence}: {', '.join(found[:_MOST_NAMED])}"
    hidden = holding_gguf(folder, names)
    if hidden and folder.name == "blobs":
        return "name the folder below snapshots/ whose links lead to these blobs"
    if hidden:
        return (
            f"these hold GGUF under other names; give them their names back, with .gguf at the end: {', '.join(hidden)}"
        )
    return _ANY


def holding_gguf(folder: Path, names: Iterable[str]) -> list[str]:
    """List files that begin as GGUF does, whatever their names say."""
    return [name for name in list(names)[:_MOST_OPENED] if begins_as_gguf(folder / name)][:_MOST_NAMED]


def begins_as_gguf(path: Path) -> bool:
    """Tell whether a file begins as GGUF does; False for one that cannot be read."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe waits for a writer, for ever
            return False
        with path.open("rb") as file:
            return file.read(4) == b"GGUF"
    except OSError:
        return False


def snapshot_of(blob: Path) -> str:
    """Find the link of a Hugging Face cache that leads to a blob."""
    links = blob.parent.parent.glob("snapshots/*/**/*.gguf")
    link = next((link for link in links if link.is_symlink() and link.resolve() == blob.resolve()), None)
    return f'name it by its link: "{link}"' if link else "name the path below snapshots/ that leads to this blob"
