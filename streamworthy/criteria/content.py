"""What is said of shards whose content was held against a manifest, whole or tensor by tensor. Pure."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from streamworthy.units import format_bytes, format_counted, format_rate, format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from streamworthy.facts.integrity import HashFacts, ShardHash, TensorHashes, WrongTensor

_SHA256_OF_NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
NAMED = 8  # a set of sixty shards is not spelled out in one sentence
_SEVERAL = 2
_MENDED_SINGLY = 3  # damaged tensors of a shard; with more of them the whole shard is the shorter way


def some(lines: tuple[str, ...]) -> str:
    """Join lines, the first of many."""
    more = f"; and {len(lines) - NAMED} more" if len(lines) > NAMED else ""
    return "; ".join(lines[:NAMED]) + more


def tell_wrong(facts: HashFacts) -> dict[str, str]:
    """Say of each shard that differs, by its path, what it has and should have, and which tensors are damaged."""
    told = {str(shard.expected.path): _tell_shard(shard) for shard in facts.shards if not shard.matches}
    for tensors in facts.tensors:
        path = str(tensors.expected.path)
        if not tensors.matches:
            told[path] = "; ".join(part for part in (told.get(path, ""), _tell_tensors(tensors)) if part)
    return told


def _tell_shard(shard: ShardHash) -> str:
    empty = ", which is the hash of no bytes at all" if shard.expected.digest == _SHA256_OF_NOTHING else ""
    return (
        f"{shard.expected.path.name} has {_prefix(shard.found.digest)}, expected {_prefix(shard.expected.digest)}"
        f" ({shard.expected.source}{empty})"
    )


def _tell_tensors(tensors: TensorHashes) -> str:
    name, source = tensors.expected.path.name, tensors.expected.source
    lines = [f"{tensor.name} (bytes {tensor.offset_bytes} to {_last(tensor)})" for tensor in tensors.wrong]
    lines += [f"{tensor}, which is not in it" for tensor in tensors.missing]
    if not lines:
        return f"{name}: its tensors are not those of {source}"
    return f"{name}: not as in {source}: {some(tuple(lines))}"


def _last(tensor: WrongTensor) -> int:
    return tensor.offset_bytes + tensor.size_bytes - 1


def _prefix(digest: str) -> str:
    return f"{digest[:12]}..."


def doubt_manifest(facts: HashFacts) -> tuple[str, str] | None:
    """Say, and what to do, where not one of several shards agrees: then the manifest is more likely to be wrong."""
    if len(facts.shards) < _SEVERAL or facts.tensors or any(shard.matches for shard in facts.shards):
        return None
    return (
        f"none of {len(facts.shards)} agrees: a manifest of another upload, or of another program such as b3sum?",
        "compare the manifest with the publisher's list for this revision, before anything is downloaded again",
    )


def doubt_revisions(facts: HashFacts) -> tuple[str, tuple[str, ...]] | None:
    """Say, and what to do, where each shard is as its own commit says, and the commits differ."""
    revisions = list(dict.fromkeys(shard.expected.revision for shard in facts.shards if shard.expected.revision))
    if len(revisions) < _SEVERAL:
        return None
    shown = ", ".join(f"{revision[:12]}..." for revision in revisions[:NAMED])
    told = f"fetched from {len(revisions)} commits of the repository ({shown})"
    how = "hf download OWNER/REPOSITORY --include '*.gguf' --local-dir FOLDER    # all of one commit"
    return f"{told}: a shard that changed between them is of another upload", (how,)


def fetch_again(facts: HashFacts, paths: Iterable[str]) -> Iterator[str]:
    """Give the lines that fetch shards again, or the few damaged tensors of one alone."""
    known = {str(shard.expected.path): shard.expected.download for shard in facts.shards}
    damaged = {str(tensors.expected.path): tensors for tensors in facts.tensors if not tensors.missing}
    for path in paths:
        quoted, name = shlex.quote(path), path.rpartition("/")[2]
        move = f"mv {quoted} {quoted}.wrong    # then download {name} again from where it came"
        yield from known.get(path) or (move,)
        if path in damaged and len(damaged[path].wrong) <= _MENDED_SINGLY:
            yield from (_fetch_tensor(quoted, name, tensor) for tensor in damaged[path].wrong)


def _fetch_tensor(quoted: str, name: str, tensor: WrongTensor) -> str:
    return (
        f"curl -fL -r {tensor.offset_bytes}-{_last(tensor)} ADDRESS/{shlex.quote(name)} | dd of={quoted} conv=notrunc"
        f" oflag=seek_bytes seek={tensor.offset_bytes}    # or only {tensor.name}"
    )


def tell_open(facts: HashFacts) -> tuple[str, ...]:
    """List what keeps the content from being verified."""
    manifest = facts.manifest
    if manifest is None:
        return ()
    sources = ", ".join(manifest.sources) or "any manifest"
    parts = [_tell_unlisted(tensors) for tensors in facts.tensors if tensors.unlisted]
    settled = {shard.expected.path for shard in facts.shards}
    paths = (*(each.path for each in manifest.expected), *(each.path for each in manifest.tensors))
    left = dict.fromkeys(f"{path.name}: not read" for path in paths if facts.far and path not in settled)
    return (
        *facts.unread,
        *facts.unchecked,
        *left,
        *parts,
        *(f"{name} is not in {sources}" for name in manifest.unlisted),
    )


def _tell_unlisted(tensors: TensorHashes) -> str:
    count, source = format_counted(len(tensors.unlisted), "tensor"), tensors.expected.source
    return f"{tensors.expected.path.name}: {count} not in {source}, the first is {tensors.unlisted[0]}"


def content_evidence(facts: HashFacts) -> tuple[str, ...]:
    """Give the notes on the hashing: manifests, rate, stored results, and what no hash covers."""
    manifest = facts.manifest
    notes = [f"manifest={source}" for source in manifest.sources] if manifest else []
    if facts.read_bytes and facts.read_seconds:
        rate = format_rate(facts.read_bytes / facts.read_seconds)
        notes.append(f"hashed={format_bytes(facts.read_bytes)} in {format_seconds(facts.read_seconds)}, {rate}")
    stored = sorted(
        [shard.found.hashed_at for shard in facts.shards if shard.found.stored]
        + [tensors.hashed_at for tensors in facts.tensors if tensors.stored]
    )
    if stored:
        notes.append(f"stored={len(stored)} results stand since {stored[0]} (--rehash reads the shards again)")
    whole = {shard.expected.path for shard in facts.shards}
    alone = [tensors for tensors in facts.tensors if tensors.expected.path not in whole]
    if alone:
        count = sum(tensors.matching_count for tensors in alone)
        notes.append(f"tensors={count} as listed; the keys and the vocabulary before them are in no hash")
    if manifest and manifest.unknown:
        notes.append(f"not of this set={some(manifest.unknown)}")
    if facts.store_note:
        notes.append(f"store={facts.store_note}")
    return (*notes, *(f"unread={line}" for line in facts.unread))
