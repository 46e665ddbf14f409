"""Hashes shards in parallel and holds them against a manifest; each result is kept as soon as it is there."""

from __future__ import annotations

import hashlib
import os
import time
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from streamworthy.errors import ProbeError
from streamworthy.facts.integrity import FileHash, HashFacts, Manifest, ShardHash
from streamworthy.gguf.gguf_hash import format_gguf_hash
from streamworthy.gguf.hash_cache import identify
from streamworthy.gguf.hash_reading import reading
from streamworthy.gguf.reader import read_header, scan_header
from streamworthy.gguf.sha256sum import format_sha256sum
from streamworthy.gguf.tensor_hashes import PREFIX, TensorsHash, can_hash, compare, in_table_order, named_digests
from streamworthy.gguf.whole_files import Job, read_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from threading import Event

    from streamworthy.facts.gguf import HeaderFacts
    from streamworthy.facts.integrity import ExpectedTensors, TensorHashes
    from streamworthy.gguf.hash_cache import HashCache
    from streamworthy.gguf.whole_files import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Hashed:
    """What came of hashing a set of files: ``failures`` holds one line for each that could not be read whole."""

    found: Mapping[Path, FileHash]
    failures: tuple[str, ...]
    read_bytes: int
    seconds: float


class _Job(Job):
    """One file to be hashed, and what its result is bound to; ``header`` where its tensors are hashed one by one."""

    def __init__(self, path: Path, algorithm: str, header: HeaderFacts | None = None) -> None:
        self.algorithm = algorithm
        self.header = header
        self.identity = _identify(path, algorithm)
        super().__init__(path, int(self.identity["size_bytes"]))


def verify(
    paths: Sequence[Path],
    manifest: Manifest | None,
    *,
    cache: HashCache | None,
    rehash: bool,
    progress: Callable[[Progress], None] | None,
) -> HashFacts:
    """Hash the shards that the manifest names and hold them against it.

    Tensors are hashed one by one where only their hashes are told, and where a shard differs, to find the damage in it.
    Results that stand in ``cache`` are taken from there unless ``rehash``. ``progress`` is called every 2 to 30 s.
    Without a manifest nothing is read. ProbeError, before anything is hashed, when a shard cannot be opened.
    """
    expected = manifest.expected if manifest else ()
    algorithms = {entry.path: entry.algorithm for entry in expected}
    hashed = hash_files(algorithms, cache=cache, rehash=rehash, progress=progress)
    shards = tuple(
        ShardHash(expected=entry, found=hashed.found[entry.path]) for entry in expected if entry.path in hashed.found
    )
    settled = {shard.expected.path for shard in shards if shard.matches}
    wanted = [one for one in manifest.tensors if one.path not in settled] if manifest else []
    known = [one for one in wanted if can_hash(one.algorithm)]
    tensors, parts = _verify_tensors(known, cache=cache, rehash=rehash, progress=progress)
    return HashFacts(
        manifest=manifest,
        shard_count=len(paths),
        shards=shards,
        tensors=tensors,
        unchecked=tuple(
            f"{one.path.name}: {one.algorithm} hashes need a package" for one in wanted if one not in known
        ),
        unread=(*hashed.failures, *parts.failures),
        read_bytes=hashed.read_bytes + parts.read_bytes,
        read_seconds=hashed.seconds + parts.seconds,
        store_note=cache.note if cache else "hash results are not kept",
        far="",
    )


def verify_stored(paths: Sequence[Path], manifest: Manifest | None, cache: HashCache, far: str) -> HashFacts:
    """Hold the results that stand against the manifest and read nothing; ``far`` says over what it would be read."""
    shards = []
    for entry in manifest.expected if manifest else ():
        found = cache.load(_identify(entry.path, entry.algorithm))
        shards += [ShardHash(expected=entry, found=found)] if found else []
    return HashFacts(
        manifest=manifest,
        shard_count=len(paths),
        shards=tuple(shards),
        tensors=(),
        unchecked=(),
        unread=(),
        read_bytes=0,
        read_seconds=0.0,
        store_note=cache.note,
        far=far,
    )


def _verify_tensors(
    expected: Sequence[ExpectedTensors],
    *,
    cache: HashCache | None,
    rehash: bool,
    progress: Callable[[Progress], None] | None,
) -> tuple[tuple[TensorHashes, ...], Hashed]:
    headers = {one.path: scan_header(one.path)[0] for one in expected}
    jobs = [
        _Job(one.path, PREFIX + one.algorithm, header) for one in expected if (header := headers[one.path]) is not None
    ]
    hashed = _hash_jobs(jobs, cache=cache, rehash=rehash, progress=progress)
    broken = [
        f"{one.path.name}: its header does not tell where tensors lie" for one in expected if not headers[one.path]
    ]
    found = tuple(
        compare(one, header, hashed.found[one.path])
        for one in expected
        if (header := headers[one.path]) is not None and one.path in hashed.found
    )
    return found, replace(hashed, failures=(*hashed.failures, *broken))


def make_manifest(
    paths: Sequence[Path],
    *,
    cache: HashCache | None,
    rehash: bool,
    progress: Callable[[Progress], None] | None,
) -> str:
    """Give the manifest of these files in sha256sum format, to be kept beside them. ProbeError when one fails."""
    hashed = hash_files(dict.fromkeys(paths, "sha256"), cache=cache, rehash=rehash, progress=progress)
    if hashed.failures:
        raise ProbeError("; ".join(hashed.failures))
    return format_sha256sum({path.name: hashed.found[path].digest for path in paths})


def make_tensor_manifest(
    paths: Sequence[Path],
    *,
    cache: HashCache | None,
    rehash: bool,
    progress: Callable[[Progress], None] | None,
) -> str:
    """Give the manifest of these files' tensors in the format of gguf-hash. ProbeError when one fails."""
    headers = {path: read_header(path) for path in paths}
    jobs = [_Job(path, f"{PREFIX}sha256", header) for path, header in headers.items()]
    hashed = _hash_jobs(jobs, cache=cache, rehash=rehash, progress=progress)
    if hashed.failures:
        raise ProbeError("; ".join(hashed.failures))
    texts = []
    for path, header in headers.items():
        digests, whole = named_digests(header, hashed.found[path].digest)
        texts.append(format_gguf_hash("sha256", path.name, in_table_order(header, digests), whole))
    return "".join(texts)


def hash_files(
    algorithms: Mapping[Path, str],
    *,
    cache: HashCache | None,
    rehash: bool,
    progress: Callable[[Progress], None] | None,
) -> Hashed:
    """Hash files, each by its algorithm. A file that fails while it is read does not stop the others."""
    jobs = [_Job(path, algorithm) for path, algorithm in algorithms.items()]
    return _hash_jobs(jobs, cache=cache, rehash=rehash, progress=progress)


def _hash_jobs(
    jobs: Sequence[_Job], *, cache: HashCache | None, rehash: bool, progress: Callable[[Progress], None] | None
) -> Hashed:
    stored = {job.path: result for job in jobs if cache and not rehash and (result := cache.load(job.identity))}
    unread = [job for job in jobs if job.path not in stored]
    begin = time.monotonic()
    found, failures = read_whole(unread, partial(_hash_file, cache), progress, verb="hashing")
    return Hashed(
        found={job.path: result for job in jobs if (result := stored.get(job.path) or found.get(job.path))},
        failures=failures,
        read_bytes=sum(job.done_bytes for job in unread),
        seconds=time.monotonic() - begin,
    )


def _identify(path: Path, algorithm: str) -> dict[str, str | int]:
    """Identify a file and see that it opens, so that a wrong permission shows before an hour of hashing."""
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        return identify(path, algorithm)
    except OSError as error:
        raise ProbeError(f"{path}: cannot be read: {error.strerror}", fix=f"ls -lL {path}") from error


def _hash_file(cache: HashCache | None, job: _Job, stop: Event, *, ahead: bool) -> FileHash:
    digest = _begin(job)
    with reading(job.path, ahead=ahead) as pieces:
        for piece in pieces:
            if stop.is_set():
                raise CancelledError
            digest.update(piece)
            job.done_bytes += len(piece)
    hashed_at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    found = FileHash(digest=digest.hexdigest(), hashed_at=hashed_at, stored=False)
    if cache:
        cache.store(job.identity, found)
    return found


def _begin(job: _Job) -> TensorsHash | hashlib._Hash:
    if job.header is not None:
        return TensorsHash(job.algorithm.removeprefix(PREFIX), job.header)
    if job.algorithm == "git-sha1":
        return hashlib.sha1(b"blob %d\0" % job.size_bytes, usedforsecurity=False)
    return hashlib.sha256()
