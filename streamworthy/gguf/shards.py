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
from streamworthy.gguf.names import (
    ShardName,
    engine_name,
    is_blob,
    is_model,
    parse_leftover,
    parse_name,
    piece_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_BLOCK_BYTES = 512  # st_blocks counts these whatever the filesystem's block is, stat(2)
_MOST_NAMED = 20
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
        raise UsageError(f"model: {path}: not found", fix=_suggest(given))
    if is_blob(given.name):
        raise UsageError(
            f"model: {path}: a blob of a Hugging Face cache, expected the name that its snapshot gives it",
            fix=_snapshot_of(given),
        )
    return _list_beside(given)


def _names_in(folder: Path) -> tuple[str, ...]:
    try:
        return tuple(sorted(entry.name for entry in folder.iterdir()))
    except OSError as error:
        raise ProbeError(
            f"model: {folder}: cannot be listed: {error.strerror}", fix=f'look at its permissions: ls -ld "{folder}"'
        ) from error


def _suggest(path: Path) -> str:
    folder = path.parent
    names = [name for name in _names_in(folder) if is_model(name)] if folder.is_dir() else []
    if names:
        return f"this folder has: {', '.join(names[:_MOST_NAMED])}"
    return "name any shard of the model, or the folder that holds them"


def _snapshot_of(blob: Path) -> str:
    links = blob.parent.parent.glob("snapshots/*/**/*.gguf")
    link = next((link for link in links if link.is_symlink() and link.resolve() == blob.resolve()), None)
    return f'name it by its link: "{link}"' if link else "name the path below snapshots/ that leads to this blob"


def _groups(names: Iterable[str]) -> _Groups:
    """Sort names into sets: by prefix and count, files without numbers each on their own."""
    groups: _Groups = {}
    for name in names:
        if is_model(name):
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
        return _bare("ambiguous", folder, names, others=_firsts(groups, sets))
    pieces = [name for name in names if piece_of(name)]
    if pieces:
        return _list_pieces(folder, names, str(piece_of(pieces[0])))
    raise UsageError(f"model: {folder}: a folder without GGUF files", fix=_look_below(folder, names))


def _list_beside(path: Path) -> ShardListing:
    names = _names_in(path.parent)
    whole = piece_of(path.name)
    if whole:
        return _list_pieces(path.parent, names, whole)
    groups = _groups((*names, path.name) if path.name not in names else names)
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
    group = sorted(groups[key], key=lambda shard: (shard.number, shard.copy, not shard.strict, shard.name))
    chosen = {shard.number: shard for shard in reversed(group) if shard.fits or not count}
    strays = _strays(groups).get(key, [])
    others = [other for other in groups if other != key and other not in strays]
    return ShardListing(
        form="set" if count else "plain",
        folder=str(folder),
        prefix=prefix,
        count=max(count, 1),
        shards=tuple(_stat(folder, shard) for _, shard in sorted(chosen.items())),
        missing=_missing(list(chosen.values()), count),
        misnamed=(*_misnamed(chosen.values(), group), *_renamed(groups, strays, prefix)),
        duplicates=tuple(shard.name for shard in group if shard.fits and chosen[shard.number] != shard),
        leftovers=list_leftovers(folder, names, prefix),
        others=_firsts(groups, others),
    )


def _misnamed(chosen: Iterable[ShardName], group: Iterable[ShardName]) -> Iterable[Misnamed]:
    for shard in sorted(chosen, key=lambda shard: shard.number):
        if not shard.strict:
            expected = engine_name(shard.prefix, shard.number, shard.total)
            yield Misnamed(
                name=shard.name, expected=expected, reason="not five digits, -of- and .gguf in small letters"
            )
    for shard in group:
        if shard.total and not shard.fits:
            yield Misnamed(name=shard.name, expected="", reason=f"its number is not one of 1 to {shard.total}")


def _renamed(groups: _Groups, strays: Iterable[tuple[str, int]], prefix: str) -> Iterable[Misnamed]:
    for key in strays:
        for shard in groups[key]:
            expected = engine_name(prefix, shard.number, shard.total)
            yield Misnamed(name=shard.name, expected=expected, reason="another prefix than the first shard's: renamed?")


def _list_pieces(folder: Path, names: Sequence[str], whole: str) -> ShardListing:
    pieces = [name for name in names if piece_of(name) == whole]
    shards = [
        ShardName(name, whole, number, len(pieces), strict=False, copy=False) for number, name in enumerate(pieces, 1)
    ]
    listing = _bare("byte_split", folder, names, prefix=whole)
    return replace(listing, count=len(shards), shards=tuple(_stat(folder, shard) for shard in shards))


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
        leftovers=list_leftovers(folder, names, prefix),
        others=others,
    )


def _look_below(folder: Path, names: Sequence[str]) -> str:
    waiting = [name for name in names if parse_leftover(name)]
    if waiting:
        return f"a download is not finished: {', '.join(waiting[:_MOST_NAMED])}"
    below = sorted(
        str(found.parent.relative_to(folder))
        for pattern in ("*/*.gguf", "*/*/*.gguf", "*/*/*/*.gguf")
        for found in folder.glob(pattern)
    )
    if below:
        return f"give --model one of its folders: {', '.join(dict.fromkeys(below[: 50 * _MOST_NAMED]))}"
    return "name any shard of the model, or the folder that holds them"


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
