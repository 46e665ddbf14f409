"""Finds what the shards' hashes should be: by sha256sum, by gguf-hash, or by what a Hugging Face download left behind.

One file may hold lines of the first two.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from streamworthy.errors import ProbeError, UsageError
from streamworthy.facts.integrity import ExpectedHash, ExpectedTensors, Manifest
from streamworthy.gguf.gguf_hash import ALGORITHMS, split_manifest
from streamworthy.gguf.hugging_face import expect_from_cache, expect_from_metadata
from streamworthy.gguf.lfs_pointers import expect_from_pointers
from streamworthy.gguf.sha256sum import SumLine, parse_sha256sum, read_text
from streamworthy.gguf.strangers import parse_pointer

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from streamworthy.gguf.gguf_hash import TensorLine

_SUMS_NAME = re.compile(r"(?:.*\.sha256(?:sum)?|(?:.*[-_.])?sha256sums?(?:\.txt)?)", re.IGNORECASE)
_TENSORS_NAME = re.compile(r".*\.manifest", re.IGNORECASE)  # as gguf-hash's README names them; others do too
# blanks and quotes that people add, and the state that `git lfs ls-files --long` writes before each name
_MARKS = re.compile(r"""^(?:[*-] )?["' ]*|["' ]+$""")
_SPLIT_NAME = re.compile(r"(.*-)[0-9]{5}(-of-[0-9]{5}\.gguf)")


class _File(NamedTuple):
    """A manifest's lines, by their format."""

    path: Path
    sums: tuple[SumLine, ...]
    tensors: tuple[TensorLine, ...]


def find_manifest(shards: tuple[Path, ...], explicit: Path | None) -> Manifest | None:
    """Find the expected hash of each shard.

    ``explicit`` is the user's manifest: then nothing else is looked at. Else all manifests in the shards' folders and
    the Hugging Face metadata are; None when there are none. UsageError for a user's manifest that cannot be read;
    ProbeError for one that was found, and when two of them contradict each other.
    """
    if explicit is not None:
        return _read_explicit(shards, explicit)
    files = _sums_files(shards)
    listed = [_match(shards, file) for file in files]
    found: dict[Path, ExpectedHash] = {}
    for expected in (*(entry for manifest in listed for entry in manifest.expected), *_from_hugging_face(shards)):
        _add(found, expected)
    tensors = _join(entry for manifest in listed for entry in manifest.tensors)
    if not found and not tensors and not files:
        return None
    sources = _unique(
        [*(re.sub(r", line \d+$", "", entry.source) for entry in found.values()), *(one.source for one in tensors)]
    )
    return Manifest(
        sources=sources or tuple(file.path.name for file in files),
        expected=tuple(found[shard] for shard in shards if shard in found),
        tensors=tensors,
        unlisted=_unlisted(shards, found, tensors),
        missing=_unique(name for manifest in listed for name in manifest.missing),
        unknown=_unique(name for manifest in listed for name in manifest.unknown),
    )


def _unlisted(shards: tuple[Path, ...], found: Iterable[Path], tensors: Iterable[ExpectedTensors]) -> tuple[str, ...]:
    named = {*found, *(one.path for one in tensors)}
    return tuple(shard.name for shard in shards if shard not in named)


def _read_explicit(shards: tuple[Path, ...], explicit: Path) -> Manifest:
    if explicit.is_dir():
        expected = expect_from_pointers(shards, explicit)
        return Manifest(
            sources=(f"Git LFS pointers in {explicit}",),
            expected=expected,
            tensors=(),
            unlisted=_unlisted(shards, [entry.path for entry in expected], ()),
            missing=(),
            unknown=(),
        )
    try:
        return _match(shards, _read(explicit))
    except ProbeError as error:
        raise UsageError(error.message, fix=error.fix) from error


def _read(path: Path) -> _File:
    text = read_text(path)
    pointer = parse_pointer(text.encode("utf-8", "surrogateescape"))
    if pointer is not None:
        return _File(path, (SumLine(number=2, digest=pointer.sha256, name=""),), ())
    tensors, rest = split_manifest(text)
    if tensors and not any(line.strip() and not line.lstrip().startswith("#") for line in rest.split("\n")):
        return _File(path, (), tensors)
    return _File(path, parse_sha256sum(rest, where=str(path)), tensors)


def _sums_files(shards: tuple[Path, ...]) -> list[_File]:
    files = []
    for folder in dict.fromkeys(shard.absolute().parent for shard in shards):
        try:
            entries = sorted(folder.iterdir())
        except OSError as error:
            raise ProbeError(f"{folder}: cannot be listed: {error.strerror}") from error
        files += [_read(entry) for entry in entries if _is_named(entry, _SUMS_NAME)]
        named = [entry for entry in entries if _is_named(entry, _TENSORS_NAME)]
        files += [_read(entry) for entry in named if _has_tensors(entry)]
    return files


def _is_named(entry: Path, pattern: re.Pattern[str]) -> bool:
    """Tell whether a file has such a name; the ._ files of macOS are notes on another file."""
    return not entry.name.startswith("._") and pattern.fullmatch(entry.name) is not None and entry.is_file()


def _has_tensors(path: Path) -> bool:
    try:
        return bool(split_manifest(read_text(path))[0])
    except ProbeError:  # some other program's file
        return False


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


def _match(shards: tuple[Path, ...], file: _File) -> Manifest:
    expected = {}
    for shard in shards:
        line = _line_of(shard, file.path, file.sums)
        if line is not None:
            source = f"{file.path.name}, line {line.number}"
            expected[shard] = ExpectedHash(
                path=shard, algorithm="sha256", digest=line.digest, source=source, download=(), revision=""
            )
    known = {shard.name for shard in shards}
    named = [*(_base_name(line, known) for line in file.sums), *(line.file for line in file.tensors)]
    others = _unique(name for name in named if name and name not in known)
    sets = {match.groups() for shard in shards if (match := _SPLIT_NAME.fullmatch(shard.name))}
    missing = tuple(name for name in others if (match := _SPLIT_NAME.fullmatch(name)) and match.groups() in sets)
    tensors = tuple(entry for shard in shards if (entry := _tensors_of(shard, file)))
    return Manifest(
        sources=(file.path.name,),
        expected=tuple(expected.values()),
        tensors=tensors,
        unlisted=_unlisted(shards, expected, tensors),
        missing=missing,
        unknown=tuple(name for name in others if name not in missing),
    )


def _tensors_of(shard: Path, file: _File) -> ExpectedTensors | None:
    """Take the lines of the hash that proves most; those of single tensors before the one of all together."""
    own = [line for line in file.tensors if line.file == shard.name]
    if not own:
        return None
    algorithm = min(
        (line for line in own), key=lambda line: (not line.tensor, ALGORITHMS.index(line.algorithm))
    ).algorithm
    digests: dict[str, TensorLine] = {}
    for line in own:
        if line.algorithm == algorithm:
            known = digests.setdefault(line.tensor, line)
            if known.digest != line.digest:
                place = f"{file.path}: lines {known.number} and {line.number}"
                raise ProbeError(
                    f"{place}: different hashes for {line.tensor or line.file}",
                    fix="give --sha256 a manifest with one line for each tensor",
                )
    return ExpectedTensors(
        path=shard,
        algorithm=algorithm,
        digests=tuple((name, line.digest) for name, line in digests.items() if name),
        whole=digests[""].digest if "" in digests else "",
        source=file.path.name,
    )


def _join(found: Iterable[ExpectedTensors]) -> tuple[ExpectedTensors, ...]:
    """Take the first manifest of each shard's tensors; ProbeError when a second one says something else."""
    first: dict[Path, ExpectedTensors] = {}
    for entry in found:
        known = first.setdefault(entry.path, entry)
        told = dict(known.digests)
        differs = [name for name, digest in entry.digests if told.get(name, digest) != digest]
        if known.algorithm == entry.algorithm and differs:
            raise ProbeError(
                f"{entry.path.name}: {known.source} and {entry.source} contradict each other on {differs[0]}",
                fix="remove the stale one, or name the right one with --sha256 FILE",
            )
    return tuple(first.values())


def _line_of(shard: Path, file: Path, lines: tuple[SumLine, ...]) -> SumLine | None:
    """Find a shard's line by its name; several lines of that name in different folders are told apart by the folder."""
    named = [line for line in lines if _base_name(line, {shard.name}) == shard.name]
    if not named:
        bare = [line for line in lines if not line.name]
        own = f"{file.name.casefold()}.".startswith(f"{shard.name.casefold()}.")
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
    """Give a line's name without its folders; marks around it count only where no shard is named so."""
    parts = _parts(line)
    base = parts[-1] if parts else ""
    for name in (line.name, base):  # the first: a name with a backslash of its own
        if name in known:
            return name
    bare = _MARKS.sub("", base)
    return bare if bare in known else base


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
