"""What the bytes of the shards are, against what a manifest says they are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path  # noqa: TC003 - records keep their types at run time, so that facts.json can be written


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedHash:
    """What a manifest says of one shard."""

    path: Path
    algorithm: str  # "sha256", or "git-sha1" (SHA-1 over "blob <size>\\0" and the content)
    digest: str  # lower-case hexadecimal
    source: str  # "SHA256SUMS, line 3"
    download: tuple[str, ...]  # paste-ready lines that fetch this shard again; empty when its origin is not known


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What one or several manifests say of a set of shards."""

    sources: tuple[str, ...]
    expected: tuple[ExpectedHash, ...]  # in the order of the shards
    unlisted: tuple[str, ...]  # shards that no manifest names
    missing: tuple[str, ...]  # shards of this set that a manifest names and that are not there
    unknown: tuple[str, ...]  # other names in a manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class FileHash:
    """The hash of a file as it was when it was read whole."""

    digest: str
    hashed_at: str  # UTC, "2026-01-31T12:00:00Z"
    stored: bool  # taken from the store: the file has not changed since


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardHash:
    """One shard: expected and found."""

    expected: ExpectedHash
    found: FileHash

    @property
    def matches(self) -> bool:
        """Tell whether the content is what the manifest says."""
        return self.found.digest == self.expected.digest


@dataclass(frozen=True, slots=True, kw_only=True)
class HashFacts:
    """The content of a set of shards against its manifest.

    ``manifest`` is None when there is none: then nothing was read.
    """

    manifest: Manifest | None
    shard_count: int
    shards: tuple[ShardHash, ...]  # those that a manifest names and that could be read
    unread: tuple[str, ...]  # one line for each shard that failed while it was read
    read_bytes: int  # read and hashed in this run
    read_seconds: float
    store_note: str  # why results are not kept; empty when they are
