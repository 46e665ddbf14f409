"""Whether the headers of several shards describe one set. Pure.

llama.cpp checks split.no and the sum of tensors; it does not notice a wrong split.count in a later shard, nor that a
shard belongs to another quantisation (llama-model-loader.cpp, July 2026).
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from typing import TYPE_CHECKING

from streamworthy.units import format_counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from streamworthy.facts.gguf import HeaderFacts, ShardHeader, TensorFacts
    from streamworthy.facts.shards import ShardListing

Fault = tuple[str, tuple[str, ...]]  # what is wrong, and what to do

# gguf_get_val_u16 aborts the engine's process when a later shard holds another type (llama-gguf-split writes these).
_TYPES = {"split.no": "u16", "split.count": "u16", "split.tensors.count": "i32"}
_LAYER = re.compile(r"blk\.(\d{1,4})\.")
# A shard is foreign when so much of it, by bytes, has a type or width that the same kind of tensor has nowhere else.
# Mixed quantisations give some kinds of tensors another type in some layers, never nearly all of a shard.
_FOREIGN_SHARE = 0.9
_FOREIGN_KINDS = 3  # sets with one tensor in each shard exist, and there a type of its own means nothing
_AGAIN = ("download these shards again, all from one upload",)


def find_set_faults(facts: ShardListing, found: Sequence[ShardHeader]) -> tuple[Fault, ...]:
    """List what does not fit together."""
    sound = [(entry, entry.header) for entry in found if entry.header is not None]
    if facts.form == "plain":
        unfinished = {left.name for left in facts.leftovers}  # has its name only when it is finished
        return tuple(_plain_faults([(entry, header) for entry, header in sound if entry.name not in unfinished]))
    if facts.form != "set" or facts.count == 1:
        return ()
    told = _told_count(sound)
    faults = [fault for entry, header in sound for fault in _own_faults(told or facts.count, entry, header)]
    if told and told != facts.count:
        faults.append(_renamed(facts, told))
    faults += _duplicates(sound)
    faults += _foreign(sound)
    if len(sound) == facts.count:
        faults += _sum_faults(sound)
    return tuple(faults)


def find_set_notes(found: Sequence[ShardHeader]) -> tuple[str, ...]:
    """List what is worth knowing and no fault."""
    versions = sorted({entry.header.version for entry in found if entry.header is not None})
    return (f"versions={', '.join(map(str, versions))} in one set",) if len(versions) > 1 else ()


def _plain_faults(sound: Sequence[tuple[ShardHeader, HeaderFacts]]) -> Iterable[Fault]:
    for entry, header in sound:
        count, number = header.keys.get("split.count"), header.keys.get("split.no")
        if not isinstance(count, int) or count <= 1:
            continue
        told = f"{entry.name}: split.count is {count}, but its name has no number"
        if header.file_bytes >= header.need_bytes + header.alignment_bytes:
            fix = (
                "download the shards again, and leave them as they are: from the first the engine finds the rest",
                "shards are whole files with headers: join them with llama-gguf-split --merge, never with cat",
            )
            yield f"{told}, and more follows behind its tensors: several shards joined with cat?", fix
        else:
            name = f"PREFIX-{int(number) + 1:05d}-of-{count:05d}.gguf" if isinstance(number, int) else "its name"
            yield f"{told}: a renamed shard?", (f"give it back the name {name}, beside the other shards",)


def _told_count(sound: Sequence[tuple[ShardHeader, HeaderFacts]]) -> int | None:
    """Give the count that the headers of a whole set agree on, whatever the names say."""
    told = {header.keys.get("split.count") for _, header in sound}
    numbers = [entry.number for entry, _ in sound]
    count = next(iter(told)) if len(told) == 1 else None
    return count if isinstance(count, int) and numbers == list(range(1, count + 1)) else None


def _renamed(facts: ShardListing, count: int) -> Fault:
    moves = tuple(
        f"mv -n {shlex.quote(shard.path)}"
        f" {shlex.quote(f'{facts.folder}/{facts.prefix}-{shard.number:05d}-of-{count:05d}.gguf')}"
        for shard in facts.shards
    )
    return f"the names say that there are {facts.count} shards, all headers say {count}: renamed?", moves


def _own_faults(count: int, entry: ShardHeader, header: HeaderFacts) -> Iterable[Fault]:
    expected = {"split.no": entry.number - 1, "split.count": count}
    for key, kind in _TYPES.items():
        value, found_kind = header.keys.get(key), header.key_types.get(key)
        if found_kind is None:
            old = " (an older general.split key is there, which engines no longer read)" if _has_old(header) else ""
            yield f"{entry.name}: {key} is missing{old}", _AGAIN
        elif found_kind != kind:
            yield f"{entry.name}: {key} is of type {found_kind}, expected {kind}: the engine aborts on it", _AGAIN
        elif key in expected and value != expected[key]:
            yield f"{entry.name}: {key} is {value}, expected {expected[key]} from its name: renamed?", _AGAIN


def _has_old(header: HeaderFacts) -> bool:
    return any(key.startswith("general.split") for key in header.keys)


def _duplicates(sound: Sequence[tuple[ShardHeader, HeaderFacts]]) -> Iterable[Fault]:
    owners: dict[str, str] = {}
    for entry, header in sound:
        again = [tensor.name for tensor in header.tensors if owners.get(tensor.name, entry.name) != entry.name]
        if again:
            first = owners[again[0]]
            yield (
                f"{entry.name}: has {format_counted(len(again), 'tensor')} of {first} too, the first is {again[0]}",
                _AGAIN,
            )
        for tensor in header.tensors:
            owners.setdefault(tensor.name, entry.name)


def _sum_faults(sound: Sequence[tuple[ShardHeader, HeaderFacts]]) -> Iterable[Fault]:
    told = {header.keys.get("split.tensors.count") for _, header in sound}
    tensors = sum(len(header.tensors) for _, header in sound)
    if len(told) > 1:
        yield f"split.tensors.count differs between shards: {', '.join(sorted(map(str, told)))}", _AGAIN
    elif told != {tensors}:
        yield (
            f"the shards hold {format_counted(tensors, 'tensor')}, split.tensors.count says {next(iter(told))}",
            _AGAIN,
        )


def _foreign(sound: Sequence[tuple[ShardHeader, HeaderFacts]]) -> Iterable[Fault]:
    architecture = sound[0][1].keys.get("general.architecture") if sound else None
    kinds = {entry.name: _kinds(header) for entry, header in sound}
    everywhere: Counter[tuple[str, str, int]] = Counter(one for table in kinds.values() for one in table)
    names: Counter[str] = Counter(name for table in kinds.values() for name in {one[0] for one in table})
    for entry, header in sound:
        other = header.keys.get("general.architecture", architecture)
        if architecture and other != architecture:
            yield f"{entry.name}: of architecture {other}, the first shard of {architecture}", _AGAIN
            continue
        table = kinds[entry.name]
        shared = sum(size for one, size in table.items() if names[one[0]] > 1)
        alone = sum(size for one, size in table.items() if names[one[0]] > 1 and everywhere[one] == 1)
        if shared and alone >= _FOREIGN_SHARE * shared:
            types = ", ".join(sorted({one[1] for one in table if names[one[0]] > 1 and everywhere[one] == 1}))
            yield (
                f"{entry.name}: its tensors ({types}) are not of the other shards' types: another quantisation?",
                _AGAIN,
            )


def _kinds(header: HeaderFacts) -> Counter[tuple[str, str, int]]:
    """Sum up bytes by a tensor's name without its layer, its type and its width; small float tensors tell nothing."""
    kinds: Counter[tuple[str, str, int]] = Counter()
    for tensor in header.tensors:
        if len(tensor.dims) > 1:
            kinds[_kind_name(tensor), tensor.type_name, tensor.dims[0]] += tensor.size_bytes
    return kinds


def _kind_name(tensor: TensorFacts) -> str:
    return _LAYER.sub("", tensor.name)
