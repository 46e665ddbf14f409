"""From any shard, or from the folder that holds them, to the set: listed by parsed number, never by folder order."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from streamworthy.errors import ProbeError, UsageError
from streamworthy.facts.shards import Misnamed, ShardFile, ShardListing
from streamworthy.gguf.leftovers import list_leftovers
from streamworthy.gguf.misnamed import from_one, list_lengthened, list_misnamed
from streamworthy.gguf.names import (
    ShardName,
    engine_name,
    is_blob,
    is_model,
    parse_leftover,
    parse_name,
)
from streamworthy.gguf.pieces import number_pieces, parse_piece
from streamworthy.gguf.suggestions import look_below, snapshot_of, suggest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_BLOCK_BYTES = 512  # st_blocks counts these whatever the filesystem's block is, stat(2)
_Groups = dict[tuple[str, int], list[ShardName]]


def list_shards(path: Path) -> ShardListing:
    """List the set that a path names. UsageError when the path is no model, ProbeError when it cannot be read."""
    given = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow the links whose names count
    try:
        is_folder, is_there = given.is_dir(), given.is_symlink() or given.exists()
    except OSError as error:
        raise ProbeError(
            f"model: {path}: cannot be reached: {error.strerror}",
            fix=f'look at the permissions of its folders: namei -l "{given}"',
        ) from error
    if is_folder:
        return _list_folder(given)
    if not is_there:
        return _list_absent(path, given)
    if is_blob(given.name):
        raise UsageError(
            f"model: {path}: a blob of a Hugging Face cache, expected the name that its snapshot gives it",
            fix=snapshot_of(given),
        )
    return _list_beside(given)


def _names_in(folder: Path) -> tuple[str, ...]:
    try:
        return tuple(sorted(entry.name for entry in folder.iterdir()))
    except OSError as error:
        raise ProbeError(
            f"model: {folder}: cannot be listed: {error.strerror}", fix=f'look at its permissions: ls -ld "{folder}"'
        ) from error


def _list_absent(path: Path, given: Path) -> ShardListing:
    """List the pieces of a file that has yet to be joined. UsageError for any other name that is not there."""
    names = _names_in(given.parent) if given.parent.is_dir() else ()
    if any((piece := parse_piece(name)) and piece.whole == given.name for name in names):
        return _list_pieces(given.parent, names, given.name)
    raise UsageError(f"model: {path}: not found", fix=suggest(str(path), given, names))


def _groups(names: Iterable[str], given: str = "") -> _Groups:
    """Sort names into sets: by prefix and count, files without numbers each on their own.

    A hidden file, such as the ._ ones of macOS, counts only where one is ``given`` by name.
    """
    groups: _Groups = {}
    for name in names:
        hidden = given.startswith(".") and name.startswith(".") and is_model(name.lstrip("._"))
        if is_model(name) or hidden:
            parsed = parse_name(name) or ShardName(name, name.removesuffix(".gguf"), 1, 0, strict=True, copy=False)
            groups.setdefault((parsed.prefix, parsed.total), []).append(parsed)
    return groups


def _list_folder(folder: Path) -> ShardListing:
    names = _names_in(folder)
    groups = _groups(names)
    sets = [key for key in groups if key not in _strays_of_any(groups)]
    if len(sets) == 1:
        return _listing(folder, names, groups, sets[0])
    if sets:
        largest_first = sorted(sets, key=lambda key: (-key[1], key[0]))  # a set is more likely meant than one file
        return _bare("ambiguous", folder, names, others=_firsts(groups, largest_first))
    pieces = [piece for name in names if (piece := parse_piece(name))]
    if pieces:
        return _list_pieces(folder, names, pieces[0].whole)
    raise UsageError(f"model: {folder}: a folder without GGUF files", fix=look_below(folder, names))


def _list_beside(path: Path) -> ShardListing:
    names = _names_in(path.parent)
    piece = parse_piece(path.name)
    if piece:
        return _list_pieces(path.parent, names, piece.whole)
    groups = _groups((*names, path.name) if path.name not in names else names, path.name)
    keys = [key for key, group in groups.items() if any(shard.name == path.name for shard in group)]
    if not keys:  # a name without .gguf, or of a companion, that was asked for by name
        parsed = ShardName(path.name, path.stem, 1, 0, strict=True, copy=False)
        keys = [(parsed.prefix, 0)]
        groups[keys[0]] = [parsed]
    key = next((main for main, strays in _strays(groups).items() if keys[0] in strays), keys[0])
    return _listing(path.parent, names, groups, key)


def _strays(groups: _Groups) -> Mapping[tuple[str, int], list[tuple[str, int]]]:
    """Find sets whose missing numbers are exactly filled by another prefix: shards that were renamed."""
    found = {}
    for key, group in groups.items():
        missing = set(_missing(group, key[1]))
        if not missing or 1 in missing:
            continue
        strays = [
            other
            for other, shards in groups.items()
            if other != key and other[1] == key[1] and {shard.number for shard in shards} <= missing
        ]
        if strays:
            found[key] = strays
    return found


def _strays_of_any(groups: _Groups) -> set[tuple[str, int]]:
    return {stray for strays in _strays(groups).values() for stray in strays}


def _missing(group: Sequence[ShardName], count: int) -> tuple[int, ...]:
    there = {shard.number for shard in group}
    return tuple(number for number in range(1, min(count, 99_999) + 1) if number not in there)


def _firsts(groups: _Groups, keys: Iterable[tuple[str, int]]) -> tuple[str, ...]:
    return tuple(min(groups[key], key=lambda shard: shard.number).name for key in keys)


def _listing(folder: Path, names: Sequence[str], groups: _Groups, key: tuple[str, int]) -> ShardListing:
    prefix, count = key
    group = sorted(from_one(groups[key]), key=lambda shard: (shard.number, shard.copy, not shard.strict, shard.name))
    chosen = {shard.number: shard for shard in reversed(group) if shard.fits or not count}
    strays = _strays(groups).get(key, [])
    others = [other for other in groups if other != key and other not in strays]
    missing = _missing(list(chosen.values()), count)
    unfinished = {leftover[0] for shard in group if (leftover := parse_leftover(shard.name))}  # given by its own name
    return ShardListing(
        form="set" if count else "plain",
        folder=str(folder),
        prefix=prefix,
        count=max(count, 1),
        shards=tuple(_stat(folder, shard) for _, shard in sorted(chosen.items())),
        missing=missing,
        misnamed=(
            *list_misnamed(chosen.values(), group),
            *_renamed(groups, strays, prefix),
            *list_lengthened(folder, names, [engine_name(prefix, number, count) for number in missing]),
        ),
        duplicates=tuple(shard.name for shard in group if shard.fits and chosen[shard.number] != shard),
        leftovers=list_leftovers(folder, names, lambda twin: twin in unfinished or _belongs(twin, key)),
        others=_firsts(groups, others),
    )


def _belongs(twin: str, key: tuple[str, int]) -> bool:
    """Tell whether an unfinished file is to become one of a set."""
    parsed = parse_name(twin)
    return (parsed.prefix, parsed.total) == key if parsed else (twin.removesuffix(".gguf"), 0) == key


def _renamed(groups: _Groups, strays: Iterable[tuple[str, int]], prefix: str) -> Iterable[Misnamed]:
    for key in strays:
        for shard in groups[key]:
            expected = engine_name(prefix, shard.number, shard.total)
            yield Misnamed(name=shard.name, expected=expected, reason="another prefix than the first shard's: renamed?")


def _list_pieces(folder: Path, names: Sequence[str], whole: str) -> ShardListing:
    found, count = number_pieces(names, whole)
    shards = [ShardName(name, whole, number, count, strict=False, copy=False) for number, name in found.items()]
    return replace(
        _bare("byte_split", folder, names, prefix=whole, others=(whole,) if whole in names else ()),
        count=count,
        shards=tuple(_stat(folder, shard) for shard in shards),
        missing=tuple(number for number in range(1, count + 1) if number not in found),
    )


def _bare(
    form: str, folder: Path, names: Sequence[str], *, prefix: str = "", others: tuple[str, ...] = ()
) -> ShardListing:
    return ShardListing(
        form=form,
        folder=str(folder),
        prefix=prefix,
        count=0,
        shards=(),
        missing=(),
        misnamed=(),
        duplicates=(),
        leftovers=list_leftovers(folder, names, lambda twin: twin.startswith(prefix)),
        others=others,
    )


def _stat(folder: Path, shard: ShardName) -> ShardFile:
    path = folder / shard.name
    try:
        status = path.stat()
    except FileNotFoundError:
        return ShardFile(
            number=shard.number, name=shard.name, path=str(path), real_path=None, size_bytes=0, allocated_bytes=0
        )
    except OSError as error:
        raise ProbeError(f"{path}: cannot be read: {error.strerror}", fix=f'look at it: ls -lL "{path}"') from error
    if not stat.S_ISREG(status.st_mode):  # opening a pipe waits for a writer, for ever
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "no regular file"
        raise ProbeError(f"{path}: found {kind}, expected a shard", fix=f'look at it: ls -ldL "{path}"')
    return ShardFile(
        number=shard.number,
        name=shard.name,
        path=str(path),
        real_path=str(path.resolve()),
        size_bytes=status.st_size,
        allocated_bytes=status.st_blocks * _BLOCK_BYTES,
    )
