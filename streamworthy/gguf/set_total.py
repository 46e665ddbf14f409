"""The size of a whole set of shards, also while it is being downloaded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from streamworthy.errors import ProbeError
from streamworthy.facts.shards import SetTotal
from streamworthy.gguf.lfs_pointers import read_pointer

if TYPE_CHECKING:
    from streamworthy.facts.gguf import ShardHeader
    from streamworthy.facts.shards import ShardFile, ShardListing


def add_up(listing: ShardListing, present: tuple[ShardFile, ...], headers: tuple[ShardHeader, ...]) -> SetTotal:
    """Add up what each shard needs by its header or its Git LFS pointer; take a missing one to be as the largest.

    ProbeError when no shard is there.
    """
    if not headers:
        raise ProbeError(f"{listing.folder}: no shard is there to learn the size of the set from")
    there = [(shard, entry) for shard, entry in zip(present, headers, strict=True) if shard.size_bytes]
    absent = len(listing.missing) + len(listing.shards) - len(there)
    known, guessed = [], absent
    for shard, entry in there:
        if entry.header is not None:
            known.append(max(shard.size_bytes, entry.header.need_bytes))
            continue
        pointer = read_pointer(Path(shard.path))
        known.append(pointer.size_bytes if pointer else shard.size_bytes)
        guessed += 0 if pointer else 1
    return SetTotal(
        present_bytes=sum(shard.size_bytes for shard in present),
        whole_bytes=sum(known) + absent * max(known, default=0),
        exact=guessed == 0,
        basis="headers and file sizes" if not guessed else f"{guessed} of {listing.count} shards taken as the largest",
    )
