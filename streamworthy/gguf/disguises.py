"""Sees by the first header what names hide: a whole model, or pieces without headers, under the names of shards.

llama.cpp takes a file for a shard by its key split.count and not by its name (llama-model-loader.cpp, July 2026).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from streamworthy.bench.as_found import as_found
from streamworthy.errors import ProbeError
from streamworthy.gguf.reader import scan_header
from streamworthy.gguf.suggestions import begins_as_gguf

if TYPE_CHECKING:
    from streamworthy.facts.gguf import HeaderFacts
    from streamworthy.facts.shards import ShardListing


def see_through(listing: ShardListing) -> ShardListing:
    """Give the listing as the first header says that it is; as it was where that header tells nothing.

    A lone first shard that holds all its tensors and has no split keys is one file: merged, or made from a shard's
    name. Where the same file needs exactly the bytes of all files together, it is the first of several pieces.
    """
    there = [shard for shard in listing.shards if shard.real_path is not None]
    if listing.form != "set" or listing.count == 1 or listing.misnamed or [one.number for one in there][:1] != [1]:
        return listing
    if len(there) > 1 and listing.missing:
        return listing
    with as_found([Path(shard.path) for shard in there[:2]]):
        header = _whole_header(*(Path(shard.path) for shard in there[:2]))
    if header is None:
        return listing
    if len(there) == 1 and header.need_bytes <= there[0].size_bytes:
        return replace(listing, form="plain", prefix=there[0].name.removesuffix(".gguf"), count=1, missing=())
    total = sum(shard.size_bytes for shard in there)
    if not listing.missing and header.need_bytes <= total < header.need_bytes + header.alignment_bytes:
        return replace(listing, form="byte_split", prefix=f"{listing.prefix}.gguf")
    return listing


def _whole_header(first: Path, second: Path | None = None) -> HeaderFacts | None:
    """Read the header of a model in one file; None for a shard, for a broken header, and where the next has one too."""
    if second is not None and begins_as_gguf(second):
        return None
    try:
        header, faults = scan_header(first)
    except ProbeError:  # the gate for headers says so
        return None
    if header is None or faults or not header.tensors or any(key.startswith("split.") for key in header.keys):
        return None
    return header
