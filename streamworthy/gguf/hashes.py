"""Hashes shards in parallel and holds them against a manifest; each result is kept as soon as it is there."""

from __future__ import annotations

import hashlib
import os
import time
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Event
from typing import TYPE_CHECKING

from streamworthy.errors import ProbeError
from streamworthy.facts.integrity import FileHash, HashFacts, Manifest, ShardHash
from streamworthy.gguf.hash_cache import identify
from streamworthy.gguf.hash_reading import reading
from streamworthy.gguf.sha256sum import format_sha256sum
from streamworthy.units import format_bytes, format_rate, format_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from streamworthy.gguf.hash_cache import HashCache

_FILES_PER_CORE = 2  # while one waits for the disk the other is hashed; five equal shards share two cores evenly
_MOST_FILES = 8  # eight cores hash faster than any one drive reads, and each file in flight needs its buffers
_PROGRESS_SECONDS = (2.0, 30.0)  # the first lines come soon, an hour of hashing does not fill a log


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far the hashing of a set of files is; ``str()`` gives the line for people."""

    done_bytes: int
    total_bytes: int
    seconds: float

    @property
    def bytes_per_second(self) -> float:
        """Rate since the beginning."""
        return self.done_bytes / self.seconds if self.seconds else 0.0

    def __str__(self) -> str:
        """Write the line: done, total, rate, time left."""
        rate = self.bytes_per_second
        left = f", {format_seconds(max(1.0, (self.total_bytes - self.done_bytes) / rate))} left" if rate else ""
        done = f"{format_bytes(self.done_bytes)} of {format_bytes(self.total_bytes)}"
        return f"hashing: {done}, {format_rate(rate)}{left}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hashed:
    """What came of hashing a set of files: ``failures`` holds one line for each that could not be read whole."""

    found: Mapping[Path, FileHash]
    failures: tuple[str, ...]
    read_bytes: int
    seconds: float


class _Job:
    """One file to be read: its place, what its result is bound to, and how far it is."""

    def __init__(self, path: Path, algorithm: str) -> None:
        self.path = path
        self.algorithm = algorithm
        self.identity = _identify(path, algorithm)
        self.size_bytes = int(self.identity["size_bytes"])
        self.done_bytes = 0


def verify(
    paths: Sequence[Path],
    manifest: Manifest | None,
    *,
    cache: HashCache | None,
    rehash: bool,
    progress: Callable[[Progress], None] | None,
) -> HashFacts:
    """Hash the shards that the manifest names and hold them against it.

    Results that stand in ``cache`` are taken from there unless ``rehash``. ``progress`` is called every 2 to 30 s.
    Without a manifest nothing is read. ProbeError, before anything is hashed, when a shard cannot be opened.
    """
    expected = manifest.expected if manifest else ()
    algorithms = {entry.path: entry.algorithm for entry in expected}
    hashed = hash_files(algorithms, cache=cache, rehash=rehash, progress=progress)
    return HashFacts(
        manifest=manifest,
        shard_count=len(paths),
        shards=tuple(
            ShardHash(expected=entry, found=hashed.found[entry.path])
            for entry in expected
            if entry.path in hashed.found
        ),
        unread=hashed.failures,
        read_bytes=hashed.read_bytes,
        read_seconds=hashed.seconds,
        store_note=cache.note if cache else "hash results are not kept",
    )


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


def hash_files(
    algorithms: Mapping[Path, str],
    *,
    cache: HashCache | None,
    rehash: bool,
    progress: Callable[[Progress], None] | None,
) -> Hashed:
    """Hash files, each by its algorithm. A file that fails while it is read does not stop the others."""
    jobs = [_Job(path, algorithm) for path, algorithm in algorithms.items()]
    stored = {job.path: result for job in jobs if cache and not rehash and (result := cache.load(job.identity))}
    unread = [job for job in jobs if job.path not in stored]
    begin = time.monotonic()
    found, failures = _hash_all(unread, cache, progress)
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


def _hash_all(
    jobs: list[_Job], cache: HashCache | None, progress: Callable[[Progress], None] | None
) -> tuple[dict[Path, FileHash], tuple[str, ...]]:
    cores = _usable_cores()
    stop = Event()
    ahead = len(jobs) < cores
    pool = ThreadPoolExecutor(min(_FILES_PER_CORE * cores, _MOST_FILES), thread_name_prefix="hash")
    largest_first = sorted(jobs, key=lambda job: -job.size_bytes)  # so that no core ends up with one long file alone
    try:
        futures = {job.path: pool.submit(_hash_file, job, cache, stop, ahead=ahead) for job in largest_first}
        _await(list(futures.values()), jobs, progress)
    finally:  # on Ctrl-C too: each thread ends with the piece it is at
        stop.set()
        pool.shutdown(cancel_futures=True)
    found: dict[Path, FileHash] = {}
    failures = []
    for path, future in futures.items():
        error = future.exception()
        if error is None:
            found[path] = future.result()
        elif isinstance(error, (OSError, ProbeError)):
            failures.append(_failure_line(path, error))
        else:
            raise error
    return found, tuple(failures)


def _await(futures: list[Future[FileHash]], jobs: list[_Job], progress: Callable[[Progress], None] | None) -> None:
    begin = time.monotonic()
    total_bytes = sum(job.size_bytes for job in jobs)
    seconds = 0.0
    while wait(futures, timeout=min(max(seconds / 10, _PROGRESS_SECONDS[0]), _PROGRESS_SECONDS[1])).not_done:
        seconds = time.monotonic() - begin
        if progress:
            done_bytes = sum(job.done_bytes for job in jobs)
            progress(Progress(done_bytes=done_bytes, total_bytes=total_bytes, seconds=seconds))


def _hash_file(job: _Job, cache: HashCache | None, stop: Event, *, ahead: bool) -> FileHash:
    if job.algorithm == "git-sha1":
        digest = hashlib.sha1(b"blob %d\0" % job.size_bytes, usedforsecurity=False)
    else:
        digest = hashlib.sha256()
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


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _failure_line(path: Path, error: OSError | ProbeError) -> str:
    reason = error.message if isinstance(error, ProbeError) else f"cannot be read: {error.strerror}"
    return f"{path.name}: {reason}"
