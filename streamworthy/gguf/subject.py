"""The model that is judged: every fact is learned when it is first asked for, and once; none reads tensor data."""

from __future__ import annotations

import hashlib
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from streamworthy.bench.as_found import as_found
from streamworthy.errors import ProbeError
from streamworthy.facts.gguf import ShardHeader
from streamworthy.facts.shards import OpenFiles
from streamworthy.facts.storage import Placement
from streamworthy.gguf.cursor import GgufError
from streamworthy.gguf.extents import probe_extents
from streamworthy.gguf.kv_cache import measure_kv
from streamworthy.gguf.ledger import draw_ledger
from streamworthy.gguf.metadata import Metadata
from streamworthy.gguf.model_check import check_model
from streamworthy.gguf.names import engine_name
from streamworthy.gguf.reader import scan_header
from streamworthy.gguf.set_total import add_up
from streamworthy.gguf.shards import list_shards
from streamworthy.gguf.sizes import measure_sizes
from streamworthy.gguf.strangers import POINTER_BYTES
from streamworthy.gguf.tensor_kinds import place_tensors

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamworthy.facts.fit import KvFacts, LedgerFacts
    from streamworthy.facts.gguf import HeaderFacts, ModelSizes
    from streamworthy.facts.integrity import HashFacts, MetadataScan, TensorScan
    from streamworthy.facts.memory import MemoryFacts
    from streamworthy.facts.plan import EnginePlan
    from streamworthy.facts.shards import SetExtents, SetTotal, ShardFile, ShardListing
    from streamworthy.facts.tensor_kinds import TensorPlace
    from streamworthy.gguf.hash_cache import HashCache


class Subject:
    """A set of shards, found from any of them or from their folder.

    ``manifest`` is the user's file of hashes, ``depth`` how much of the tensors is looked at, ``say`` takes progress
    lines. Making one touches nothing; each property
    raises UsageError when the path is no model and ProbeError when its fact cannot be learned.
    """

    def __init__(  # noqa: PLR0913 - what a user may say of a model
        self,
        path: Path,
        *,
        manifest: Path | None = None,
        depth: str = "quick",
        rehash: bool = False,
        hash_cache: HashCache | None = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        """Take what is asked about; nothing is read yet."""
        self.path = path
        self._manifest = manifest
        self._depth = depth
        self._rehash = rehash
        self._hash_cache = hash_cache
        self._say = say
        self.far: Callable[[], str] = lambda: ""  # over what the shards are read, where that is not this machine's disk

    @cached_property
    def listing(self) -> ShardListing:
        """The files of the set, by their names."""
        return list_shards(self.path)

    @cached_property
    def present(self) -> tuple[ShardFile, ...]:
        """The shards that are there, by number. ProbeError when the path names more than one model or none whole."""
        listing = self.listing
        if listing.form == "ambiguous":
            raise ProbeError(
                f"{listing.folder}: found several models ({', '.join(listing.others)}), expected one",
                fix=f'name one of them: "{Path(listing.folder) / listing.others[0]}"',
            )
        return tuple(shard for shard in listing.shards if shard.real_path is not None)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The logical paths of the shards that are there; empty when the path names several models."""
        return tuple(Path(shard.path) for shard in self.listing.shards if shard.real_path is not None)

    @property
    def first(self) -> Path:
        """The first shard's logical path: what the engine is given. ProbeError when it is missing."""
        for shard in self.present:
            if shard.number == 1:
                return Path(shard.path)
        expected = engine_name(self.listing.prefix, 1, self.listing.count)
        raise ProbeError(
            f"{self.listing.folder}: {expected}: not found, and it alone names the model's architecture",
            fix=f"download {expected}",
        )

    @property
    def name(self) -> str:
        """The model's name for people: its files' prefix."""
        return self.listing.prefix or Path(self.listing.folder).name

    @property
    def placements(self) -> tuple[Placement, ...]:
        """Where the shards that are there lie."""
        return tuple(
            Placement(
                path=shard.path,
                real_path=str(shard.real_path),
                size_bytes=shard.size_bytes,
                allocated_bytes=shard.allocated_bytes,
            )
            for shard in self.present
        )

    @cached_property
    def headers(self) -> tuple[ShardHeader, ...]:
        """The header of each shard that is there, or what is wrong with it. ProbeError for one that cannot be read."""
        found = []
        with as_found(self.paths):
            for shard in self.present:
                header, faults = scan_header(Path(shard.path))
                found.append(ShardHeader(number=shard.number, name=shard.name, header=header, faults=faults))
        whole = len(found) == max(self.listing.count, 1)
        return check_model(found) if whole and self.listing.form in ("set", "plain") else tuple(found)

    @property
    def places(self) -> tuple[TensorPlace, ...]:
        """Where the tensors lie of which a header tells. ProbeError when the first header cannot be read."""
        return place_tensors(self.metadata, self._headers_by_path())

    @cached_property
    def extents(self) -> SetExtents:
        """Whether the shards hold their tensors. ProbeError for pieces, which have no headers."""
        self._refuse_pieces()
        return probe_extents(self.present, self.headers)

    @cached_property
    def tensors(self) -> TensorScan:
        """What is in the tensors' data, looked at as deeply as was asked. ProbeError when a header cannot be read."""
        from streamworthy.gguf.tensor_scan import scan_tensors

        headers = self._all_headers()
        faulty = [entry.name for entry in self.headers if any(fault.kind != "model" for fault in entry.faults)]
        if faulty:
            raise ProbeError(
                f"the header of {', '.join(faulty)} has faults, so what is where in the file is not known",
                fix="see the gate shards.headers",
            )
        say = self._say
        return scan_tensors(headers, depth=self._depth, progress=(lambda at: say(str(at))) if say else None)

    @cached_property
    def metadata_leaks(self) -> MetadataScan:
        """What the texts in the keys tell of the one who made the file. ProbeError when a header cannot be read."""
        from streamworthy.gguf.metadata_scan import scan_metadata

        headers = self._all_headers()
        with as_found(self.paths):
            return scan_metadata(headers)

    @property
    def leaking_texts(self) -> dict[str, str]:
        """What of the keys is not to be written down, and what is written instead."""
        from streamworthy.gguf.metadata_scan import leaking_texts

        headers = self._headers_by_path()
        with as_found(self.paths):
            return leaking_texts(headers)

    def _headers_by_path(self) -> dict[Path, HeaderFacts]:
        pairs = zip(self.present, self.headers, strict=True)
        return {Path(shard.path): entry.header for shard, entry in pairs if entry.header is not None}

    def _all_headers(self) -> dict[Path, HeaderFacts]:
        self._refuse_pieces()
        headers = self._headers_by_path()
        unread = [shard.name for shard in self.present if Path(shard.path) not in headers]
        if unread or not headers:
            names = ", ".join(unread) or "every shard"
            raise ProbeError(
                f"the header of {names} cannot be read, so what is in the file is not known",
                fix="see the gate shards.headers",
            )
        return headers

    def _refuse_pieces(self) -> None:
        if self.listing.form == "byte_split":
            raise ProbeError(
                f"{self.listing.folder}: pieces of a file, of which only the first has a header, expected whole shards",
                fix="see the gate shards.names",
            )

    @cached_property
    def metadata(self) -> Metadata:
        """The model's keys. GgufError when the first shard's header is broken, ProbeError when it is missing."""
        first = self.first.name
        entry = next(entry for entry in self.headers if entry.name == first)
        if entry.header is None:
            raise GgufError(entry.name, entry.faults)
        return Metadata(entry.name, entry.header.keys)

    @cached_property
    def sizes(self) -> ModelSizes:
        """The model's bytes by their use; lower bounds while shards are missing."""
        partial = bool(self.listing.missing) or len(self._sound) < len(self.listing.shards)
        return measure_sizes(self.metadata, self._sound, partial=partial)

    @property
    def _sound(self) -> list[HeaderFacts]:
        return [entry.header for entry in self.headers if entry.header is not None]

    @cached_property
    def total(self) -> SetTotal:
        """The size of the whole set, also while it is being downloaded."""
        return add_up(self.listing, self.present, self.headers)

    @property
    def open_files(self) -> OpenFiles:
        """How many files may be open at once: the engine keeps all shards open while it loads."""
        import resource

        soft, hard = (
            None if limit == resource.RLIM_INFINITY else limit for limit in resource.getrlimit(resource.RLIMIT_NOFILE)
        )
        return OpenFiles(soft_count=soft, hard_count=hard)

    @property
    def set_total_bytes(self) -> int | None:
        """The size of the whole set; None when no shard tells it. ProbeError when the path names several models."""
        return self.total.whole_bytes if self.present else None

    @cached_property
    def identity(self) -> str:
        """A short id of the set: names left out, header bytes and sizes in. A copy has the same, another quant not."""
        digest = hashlib.sha256()
        with as_found(self.paths):
            for shard, entry in zip(self.present, self.headers, strict=True):
                length = entry.header.header_bytes if entry.header else POINTER_BYTES
                with Path(shard.path).open("rb") as file:
                    digest.update(b"%d %d %d\n" % (shard.number, self.listing.count, shard.size_bytes))
                    digest.update(file.read(length))
        return digest.hexdigest()[:16]

    def kv(self, plan: EnginePlan) -> KvFacts:
        """Work out the KV cache under an engine plan."""
        return measure_kv(self.metadata, plan)

    def ledger(self, plan: EnginePlan, memory: MemoryFacts) -> LedgerFacts:
        """Put what the model needs in memory under an engine plan beside what there is."""
        metadata = self.metadata
        header_bytes = max(header.header_bytes for header in self._sound)
        return draw_ledger(metadata, self.sizes, plan, memory, header_bytes=header_bytes)

    @cached_property
    def hashes(self) -> HashFacts:
        """The shards' content against its manifest: the one property that reads all data, once until a file changes."""
        from streamworthy.gguf.hash_cache import default_cache
        from streamworthy.gguf.hashes import verify, verify_stored
        from streamworthy.gguf.manifest import find_manifest

        paths = tuple(Path(shard.path) for shard in self.present)
        if not paths:
            raise ProbeError(f"{self.listing.folder}: no shard is there to verify")
        manifest, cache, far = find_manifest(paths, self._manifest), self._hash_cache or default_cache(), self.far()
        if far and not self._rehash:
            return verify_stored(paths, manifest, cache, far)
        say = self._say
        return verify(
            paths,
            manifest,
            cache=cache,
            rehash=self._rehash,
            progress=(lambda progress: say(str(progress))) if say else None,
        )
