"""Finds files that people read as a shard and the engine does not find, and the names that it builds for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.facts.shards import Misnamed
from streamworthy.gguf.names import engine_name, parse_leftover, parse_name
from streamworthy.gguf.suggestions import holding_gguf

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from streamworthy.gguf.names import ShardName


def from_one(group: Sequence[ShardName]) -> list[ShardName]:
    """Count a set from one, as the engine does, where its names count from zero."""
    numbers, total = {shard.number for shard in group}, group[0].total
    if 0 not in numbers or total in numbers:
        return list(group)
    return [shard._replace(number=shard.number + 1, strict=False) for shard in group]


def list_misnamed(chosen: Iterable[ShardName], group: Iterable[ShardName]) -> Iterable[Misnamed]:
    """List the shards of a set under odd names, and files whose number no set has."""
    odd = [shard for shard in sorted(chosen, key=lambda shard: shard.number) if not shard.strict]
    from_zero = [shard for shard in odd if (name := parse_name(shard.name)) and name.number != shard.number]
    for shard in reversed(odd) if from_zero else odd:  # a name that another shard has yet is free by then
        reason = "not five digits, -of- and .gguf in small letters"
        if from_zero:
            reason = "counted from 0, the engine counts from 1"
        expected = engine_name(shard.prefix, shard.number, shard.total)
        yield Misnamed(name=shard.name, expected=expected, reason=reason)
    for shard in group:
        if shard.total and not shard.fits:
            yield Misnamed(name=shard.name, expected="", reason=f"its number is not one of 1 to {shard.total}")


def list_lengthened(folder: Path, names: Sequence[str], missing: Sequence[str]) -> Iterable[Misnamed]:
    """Find missing shards under names that go on behind the ending: .txt of a browser, .1 of wget, .bak of people."""
    for expected in missing:
        longer = [name for name in names if name.startswith(expected) and not parse_leftover(name)]
        for name in holding_gguf(folder, longer)[:1]:
            yield Misnamed(name=name, expected=expected, reason="goes on behind .gguf")
