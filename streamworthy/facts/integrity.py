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
    revision: str  # the commit that alone says so; empty for a list of the whole set


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedTensors:
    """What a manifest of llama.cpp's gguf-hash says of one shard's tensors."""

    path: Path
    algorithm: str  # "sha256", "sha1" or "xxh64"
    digests: tuple[tuple[str, str], ...]  # by the tensor's name; empty when only all of them together are told
    whole: str  # of all tensors one after the other; empty when it is not told
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What one or several manifests say of a set of shards."""

    sources: tuple[str, ...]
    expected: tuple[ExpectedHash, ...]  # in the order of the shards
    tensors: tuple[ExpectedTensors, ...]  # in the order of the shards
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
class WrongTensor:
    """A tensor whose data are not what the manifest says."""

    name: str
    offset_bytes: int  # from the start of the file
    size_bytes: int
    expected: str
    found: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorHashes:
    """One shard's tensors: expected and found."""

    expected: ExpectedTensors
    matching_count: int
    wrong: tuple[WrongTensor, ...]
    missing: tuple[str, ...]  # in the manifest and not in the shard
    unlisted: tuple[str, ...]  # in the shard, and in no line
    whole_differs: bool  # all together are not what the manifest says
    hashed_at: str
    stored: bool

    @property
    def matches(self) -> bool:
        """Tell whether nothing differs from the manifest."""
        return not (self.wrong or self.missing or self.whole_differs)


@dataclass(frozen=True, slots=True, kw_only=True)
class HashFacts:
    """The content of a set of shards against its manifest.

    ``manifest`` is None when there is none: then nothing was read.
    """

    manifest: Manifest | None
    shard_count: int
    shards: tuple[ShardHash, ...]  # those that a manifest names and that could be read
    tensors: tuple[TensorHashes, ...]  # of shards of which only the tensors' hashes are told, or whose own hash differs
    unchecked: tuple[str, ...]  # one line for each shard whose hashes cannot be computed here
    unread: tuple[str, ...]  # one line for each shard that failed while it was read
    read_bytes: int  # read and hashed in this run
    read_seconds: float
    store_note: str  # why results are not kept; empty when they are
    far: str  # over what the shards would have been read, so that only stored results were taken; empty: they were read


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenTensor:
    """A tensor with floats that are NaN or infinite: scales of its blocks, or its weights themselves."""

    path: Path  # of its shard
    name: str
    type_name: str
    broken_count: int  # blocks
    looked_count: int  # blocks of it that were looked at
    first_offset_bytes: int  # of the first broken block, from the start of the file


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroRun:
    """A range of a shard in which every byte is zero, and how it lies in rows and matrices.

    Weights that are zero by intent are whole rows; what a download left out begins and ends anywhere.
    """

    path: Path
    offset_bytes: int  # from the start of the file
    size_bytes: int
    exact: bool  # False: it goes on, and was not followed to its end
    tensor: str  # the first that it touches
    inside_row: bool  # one of its ends lies inside a row
    touched_count: int  # matrices that it touches; norms and biases are not counted
    whole_count: int  # matrices that it covers from end to end


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorScan:
    """What was found in the tensors' data, and how much of it was looked at."""

    tensor_count: int
    tensor_bytes: int
    looked_bytes: int
    place_count: int | None  # None: everything was looked at
    stride_bytes: int | None  # a place was looked at in each part of this size; None: all, or stopped by the time
    least_blocks_count: int | None  # in the tensor that was looked at least; None: everything was looked at
    broken: tuple[BrokenTensor, ...]
    zero_runs: tuple[ZeroRun, ...]  # from 64 KiB on
    unchecked: tuple[str, ...]  # types whose layout is not known
    unread: tuple[str, ...]  # one line for each shard that could not be looked at
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataLeak:
    """Something in a key that names a person, a machine or a way in; never as it stands there."""

    file: str  # name of the shard
    key: str
    kind: str  # "access token", "home folder", ...
    shown: str  # masked: "hf_***"
    secret: bool  # gives access to something


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataScan:
    """What the texts in a model's keys tell of the one who made the file."""

    key_count: int  # keys with texts that were looked at
    leaks: tuple[MetadataLeak, ...]
    cut: tuple[str, ...]  # keys of which only the beginning was looked at
