"""Finds what the shards' hashes should be: a sha256sum file, or what a Hugging Face download left behind."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from streamworthy.errors import ProbeError, UsageError
from streamworthy.facts.integrity import ExpectedHash, Manifest
from streamworthy.gguf.hugging_face import expect_from_cache, expect_from_metadata
from streamworthy.gguf.sha256sum import read_sha256sum

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from streamworthy.gguf.sha256sum import SumLine

_SUMS_NAME = re.compile(r"(?:.*\.sha256(?:sum)?|(?:.*[-_.])?sha256sums?(?:\.txt)?)", re.IGNORECASE)
_SPLIT_NAME = re.compile(r"(.*-)[0-9]{5}(-of-[0-9]{5}\.gguf)")


def find_manifest(shards: tuple[Path, ...], explicit: Path | None) -> Manifest | None:
    """Find the expected hash of each shard.

    ``explicit`` is the user's manifest: then nothing else is looked at. Else all sha256sum files in the shards' folders
    and the Hugging Face metadata are; None when they name no shard. UsageError for a user's manifest that cannot be
    read; ProbeError for one that was found, and when two of them contradict each other.
    """
    if explicit is not None:
        return _read_explicit(shards, explicit)
    listed = [_match(shards, file, read_sha256sum(file)) for file in _sums_files(shards)]
    found: dict[Path, ExpectedHash] = {}
    for expected in (*(entry for manifest in listed for entry in manifest.expected), *_from_hugging_face(shards)):
        _add(found, expected)
    if not found:
        return None
    return Manifest(
        sources=tuple(dict.fromkeys(re.sub(r", line \d+$", "", entry.source) for entry in found.values())),
        expected=tuple(found[shard] for shard in shards if shard in found),
        unlisted=tuple(shard.name for shard in shards if shard not in found),
        missing=_unique(name for manifest in listed for name in manifest.missing),
        unknown=_unique(name for manifest in listed for name in manifest.unknown),
    )


def _read_explicit(shards: tuple[Path, ...], explicit: Path) -> Manifest:
    try:
        return _match(shards, explicit, read_sha256sum(explicit))
    except ProbeError as error:
        raise UsageError(error.message, fix=error.fix) from error


def _sums_files(shards: tuple[Path, ...]) -> list[Path]:
    files = []
    for folder in dict.fromkeys(shard.absolute().parent for shard in shards):
        try:
            entries = sorted(folder.iterdir())
        except OSError as error:
            raise ProbeError(f"{folder}: cannot be listed: {error.strerror}") from error
        files += [entry for entry in entries if _SUMS_NAME.fullmatch(entry.name) and entry.is_file()]
    return files


def _from_hugging_face(shards: tuple[Path, ...]) -> list[ExpectedHash]:
    found = [(shard, expect_from_metadata(shard) or expect_from_cache(shard)) for shard in shards]
    return [replace(expected, path=shard) for shard, expected in found if expected is not None]


def _add(found: dict[Path, ExpectedHash], expected: ExpectedHash) -> None:
    known = found.setdefault(expected.path, expected)
    if known.algorithm == expected.algorithm and known.digest != expected.digest:
        raise ProbeError(
            f"{expected.path.name}: two manifests contradict each other: {known.source} says {known.digest[:12]}..., "
            f"{expected.source} says {expected.digest[:12]}...",
            fix="remove the stale one, or name the right one with --sha256 FILE",
        )
    if not known.download and known.digest == expected.digest:
        found[expected.path] = replace(known, download=expected.download)


def _match(shards: tuple[Path, ...], file: Path, lines: tuple[SumLine, ...]) -> Manifest:
    expected = []
    for shard in shards:
        line = _line_of(shard, file, lines)
        if line is not None:
            source = f"{file.name}, line {line.number}"
            expected.append(
                ExpectedHash(path=shard, algorithm="sha256", digest=line.digest, source=source, download=())
            )
    known = {shard.name for shard in shards}
    others = _unique(name for line in lines if (name := _base_name(line, known)) and name not in known)
    sets = {match.groups() for shard in shards if (match := _SPLIT_NAME.fullmatch(shard.name))}
    missing = tuple(name for name in others if (match := _SPLIT_NAME.fullmatch(name)) and match.groups() in sets)
    listed = {entry.path for entry in expected}
    return Manifest(
        sources=(file.name,),
        expected=tuple(expected),
        unlisted=tuple(shard.name for shard in shards if shard not in listed),
        missing=missing,
        unknown=tuple(name for name in others if name not in missing),
    )


def _line_of(shard: Path, file: Path, lines: tuple[SumLine, ...]) -> SumLine | None:
    """Find a shard's line by its name; several lines of that name in different folders are told apart by the folder."""
    named = [line for line in lines if _base_name(line, {shard.name}) == shard.name]
    if not named:
        bare = [line for line in lines if not line.name]
        own = file.name.casefold().startswith(f"{shard.name.casefold()}.sha256")
        return bare[0] if own and bare else None
    if len({line.digest for line in named}) == 1:
        return named[0]
    parts = shard.absolute().parts
    closest = [line for line in named if (names := _parts(line)) == list(parts[-len(names) :])]
    closest.sort(key=lambda line: -len(_parts(line)))
    if not closest:
        numbers = ", ".join(str(line.number) for line in named)
        raise ProbeError(
            f"{file}: lines {numbers}: different hashes for {shard.name!r}, and no line names the folder it is in",
            fix="give --sha256 a manifest with one line for each shard",
        )
    return closest[0]


def _parts(line: SumLine) -> list[str]:
    """Split a name as Unix and Windows write it."""
    return [part for part in re.split(r"[/\\]", line.name) if part not in ("", ".")]


def _base_name(line: SumLine, known: set[str]) -> str:
    if line.name in known:  # a name with a backslash of its own
        return line.name
    parts = _parts(line)
    return parts[-1] if parts else ""


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
