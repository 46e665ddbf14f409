"""Makes the sample model once, and finds it again.

A set appears whole or not at all: shards are written in a folder of their own beside their destination, renamed, and
count from the moment that their record is there. One process makes it; others wait at a lock file (flock(2)).
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

from streamworthy.errors import ProbeError, UsageError
from streamworthy.sample.reference import stored_digests
from streamworthy.sample.stored import hash_shards, is_intact, set_paths, write_record
from streamworthy.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from streamworthy.sample.spec import SampleSpec

_HEADROOM_BYTES = 16 * 2**20  # headers, padding, file system metadata


def free_bytes_of(folder: Path) -> int:
    """Ask how much an ordinary user may still write to a folder's file system. Raises OSError."""
    facts = os.statvfs(folder)
    return facts.f_bavail * facts.f_frsize


def ensure_sample(
    folder: Path,
    spec: SampleSpec,
    *,
    progress: Callable[[int, int], None] | None = None,
    free_bytes: Callable[[Path], int] = free_bytes_of,
) -> Path:
    """Give the path of the first shard; make the set first unless it is there and intact.

    ``progress`` gets bytes written and bytes in all. Raises UsageError when the folder cannot take the files, and
    ProbeError when this machine writes other bytes than the stored digests say.
    """
    if is_intact(folder, spec):
        return spec.first_shard(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _lock(folder, spec):
            if not is_intact(folder, spec):  # another process may have made it while this one waited
                _make(folder, spec, progress, free_bytes)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(
            f"sample folder {folder}: found '{reason}', expected a folder that can be written", fix=_FIX
        ) from error
    return spec.first_shard(folder)


_FIX = "choose another folder for the sample, or make room in this one"


def _make(
    folder: Path,
    spec: SampleSpec,
    progress: Callable[[int, int], None] | None,
    free_bytes: Callable[[Path], int],
) -> None:
    from streamworthy.sample.shards import planned_bytes, write_shards

    _sweep(folder, spec)
    _require_space(folder, planned_bytes(spec) + _HEADROOM_BYTES, free_bytes)
    with _temporary_folder(folder, spec) as temporary:
        write_shards(temporary, spec, progress)
        digests = hash_shards(temporary, spec)
        _require_reproduced(spec, digests)
        _install(temporary, folder, spec, digests)


def _sweep(folder: Path, spec: SampleSpec) -> None:
    """Remove what a killed maker left. Only the lock's holder may: no other maker is alive."""
    for leftover in folder.glob(f".{spec.prefix}.*.tmp"):
        if leftover.is_dir():
            shutil.rmtree(leftover)
        else:
            leftover.unlink(missing_ok=True)


def _require_space(folder: Path, needed_bytes: int, free_bytes: Callable[[Path], int]) -> None:
    found_bytes = free_bytes(folder)
    if found_bytes < needed_bytes:
        raise UsageError(
            f"sample folder {folder}: found {format_bytes(found_bytes)} free, expected {format_bytes(needed_bytes)}",
            fix=_FIX,
        )


def _require_reproduced(spec: SampleSpec, digests: list[str]) -> None:
    expected = stored_digests(spec)
    if expected is None or expected == tuple(digests):
        return
    number = next(index for index, pair in enumerate(zip(digests, expected, strict=True)) if pair[0] != pair[1])
    raise ProbeError(
        f"sample {spec.shard_names[number]}: not reproducible here: "
        f"found sha256 {digests[number]}, expected {expected[number]}",
        fix="check the memory of this machine and the versions of numpy and gguf, or give a real model with --model",
    )


def _install(temporary: Path, folder: Path, spec: SampleSpec, digests: list[str]) -> None:
    record, *others = set_paths(folder, spec)
    record.unlink(missing_ok=True)
    try:
        for name in spec.shard_names:
            (temporary / name).replace(folder / name)
        write_record(folder, spec, digests)
    except BaseException:
        for path in (record, *others):
            path.unlink(missing_ok=True)
        raise


@contextmanager
def _temporary_folder(folder: Path, spec: SampleSpec) -> Iterator[Path]:
    temporary = folder.joinpath(tempfile.mkdtemp(prefix=f".{spec.prefix}.", suffix=".tmp", dir=folder))
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def _lock(folder: Path, spec: SampleSpec) -> Iterator[None]:
    """Hold the lock file of a sample, and remove it afterwards."""
    path = folder / f".{spec.prefix}.lock"
    descriptor = _open_locked(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _open_locked(path: Path) -> int:
    """Open and lock a file that its holders remove: what was locked must still be what the name means."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.fstat(descriptor).st_ino == path.stat().st_ino:
                return descriptor
        except OSError as error:
            if error.errno != errno.ENOENT:
                os.close(descriptor)
                raise
        except BaseException:  # interrupted while waiting
            os.close(descriptor)
            raise
        os.close(descriptor)
