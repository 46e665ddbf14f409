"""Which files make up a model, by their names and sizes, and whether their tensors lie inside them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardFile:
    """One file of the set.

    ``path`` is the logical path that the engine is given; ``real_path`` is where links lead. The two differ in a
    Hugging Face cache, where a snapshot's names are links to blobs: names are judged on the first, bytes on the second.
    """

    number: int  # 1-based, from the name; 1 for a plain file
    name: str
    path: str
    real_path: str | None  # None: a link to a file that is not there
    size_bytes: int  # 0 behind a dangling link
    allocated_bytes: int  # st_blocks * 512: less than the size for a sparse file or a compressing filesystem


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """What an unfinished download leaves in the folder."""

    name: str
    twin: str  # the name it is to become; empty when it cannot be told
    twin_present: bool
    control: bool  # a control file (aria2): while it exists its twin is unfinished, whatever the twin's size


@dataclass(frozen=True, slots=True, kw_only=True)
class Misnamed:
    """A file that people read as a shard and the engine does not find."""

    name: str
    expected: str  # the name that the engine builds for it
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardListing:
    """The set that a path names, from the folder's names alone.

    ``form``: "set", "plain" (one file without numbers), "byte_split" (pieces of an old upload that have to be joined)
    or "ambiguous" (a folder with several models: ``others`` lists them and ``shards`` is empty).
    """

    form: str
    folder: str
    prefix: str
    count: int  # N of "-of-N"
    shards: tuple[ShardFile, ...]  # by number
    missing: tuple[int, ...]  # numbers without a file
    misnamed: tuple[Misnamed, ...]
    duplicates: tuple[str, ...]  # further files that claim a number that is taken
    leftovers: tuple[Leftover, ...]
    others: tuple[str, ...]  # a file of each other model in the folder


@dataclass(frozen=True, slots=True, kw_only=True)
class SetTotal:
    """The size of the whole set, also while it is being downloaded.

    ``exact`` is False when a shard is missing whose size nobody tells; it is then taken to be as large as the largest.
    """

    present_bytes: int  # in the folder now
    whole_bytes: int  # when complete
    exact: bool
    basis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenFiles:
    """How many files this process may have open (RLIMIT_NOFILE); the engine inherits it."""

    soft_count: int | None  # None: unlimited
    hard_count: int | None  # None: unlimited


@dataclass(frozen=True, slots=True, kw_only=True)
class EndReads:
    """The last byte of each stretch that a file has on its disk, read past the page cache where that is possible."""

    extents_count: int  # 1 where the filesystem does not tell its extents: the file's end alone
    read_count: int  # less where time ran out, or behind an error
    failed_byte: int | None  # the first that could not be read; None: all that were tried could be
    error: str  # "EIO"; empty when none failed


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtentFacts:
    """Whether one shard holds its tensors."""

    name: str
    need_bytes: int  # up to the end of its last tensor, final padding not counted
    have_bytes: int
    outside_count: int  # tensors that end behind the end of the file
    tensor_count: int
    first_outside: str  # the first of them; empty when there is none
    hole_bytes: int  # never written, inside of what is needed (SEEK_HOLE); 0 where a filesystem cannot tell
    first_hole_bytes: int | None  # where the first hole begins; None: no hole
    trailing_bytes: int  # behind the last tensor and its padding
    trailing_magic: bool  # another GGUF begins there: files were joined
    ends: EndReads


@dataclass(frozen=True, slots=True, kw_only=True)
class SetExtents:
    """The extents of all shards that are there."""

    shards: tuple[ExtentFacts, ...]
    cut: tuple[str, ...]  # shards that end inside their header, each with its fault
    unread: tuple[str, ...]  # shards whose header is broken otherwise, each with its fault
