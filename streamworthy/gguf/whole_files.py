"""Reads a set of files whole, several at once: the order, the progress, failures of one file, and Ctrl-C."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Protocol, TypeVar

from streamworthy.errors import ProbeError
from streamworthy.units import format_bytes, format_rate, format_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future
    from pathlib import Path

_FILES_PER_CORE = 2  # while one waits for the disk the other is worked on; five equal shards share two cores evenly
_MOST_FILES = 8  # eight cores hash faster than any one drive reads, and each file in flight needs its buffers
_PROGRESS_SECONDS = (2.0, 30.0)  # the first lines come soon, an hour of hashing does not fill a log


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far the reading of a set of files is; ``str()`` gives the line for people."""

    verb: str  # what is done with them: "hashing"
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
        return f"{self.verb}: {done}, {format_rate(rate)}{left}"


class Job:
    """One file to be read, and how far it is."""

    def __init__(self, path: Path, size_bytes: int) -> None:
        """Begin with nothing read."""
        self.path = path
        self.size_bytes = size_bytes
        self.done_bytes = 0


J = TypeVar("J", bound=Job)
J_contra = TypeVar("J_contra", bound=Job, contravariant=True)
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Work(Protocol[J_contra, T_co]):
    """What is done with one file, in a thread of its own; it ends with CancelledError once ``stop`` is set."""

    def __call__(self, job: J_contra, stop: Event, *, ahead: bool) -> T_co:
        """Read the job's file; ``ahead``: a core would be idle otherwise."""


def read_whole(
    jobs: Sequence[J], work: Work[J, T], progress: Callable[[Progress], None] | None, *, verb: str
) -> tuple[dict[Path, T], tuple[str, ...]]:
    """Do the work on each file; gives the results, and a line for each file that could not be read whole."""
    cores = _usable_cores()
    stop = Event()
    ahead = len(jobs) < cores
    pool = ThreadPoolExecutor(min(_FILES_PER_CORE * cores, _MOST_FILES), thread_name_prefix=verb)
    largest_first = sorted(jobs, key=lambda job: -job.size_bytes)  # so that no core ends up with one long file alone
    try:
        futures = {job.path: pool.submit(work, job, stop, ahead=ahead) for job in largest_first}
        _await(list(futures.values()), jobs, progress, verb)
    finally:  # on Ctrl-C too: each thread ends with the piece it is at
        stop.set()
        pool.shutdown(cancel_futures=True)
    return _sort_out(futures)


def _sort_out(futures: dict[Path, Future[T]]) -> tuple[dict[Path, T], tuple[str, ...]]:
    found: dict[Path, T] = {}
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


def _await(
    futures: list[Future[T]], jobs: Sequence[Job], progress: Callable[[Progress], None] | None, verb: str
) -> None:
    begin = time.monotonic()
    total_bytes = sum(job.size_bytes for job in jobs)
    seconds = 0.0
    while wait(futures, timeout=min(max(seconds / 10, _PROGRESS_SECONDS[0]), _PROGRESS_SECONDS[1])).not_done:
        seconds = time.monotonic() - begin
        if progress:
            done_bytes = sum(job.done_bytes for job in jobs)
            progress(Progress(verb=verb, done_bytes=done_bytes, total_bytes=total_bytes, seconds=seconds))


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _failure_line(path: Path, error: OSError | ProbeError) -> str:
    reason = error.message if isinstance(error, ProbeError) else f"cannot be read: {error.strerror}"
    return f"{path.name}: {reason}"
