"""Is the sample in this folder the one that was made? Answered from a small record beside the shards.

The record holds each shard's SHA-256 and what stat(2) said after it was written. As long as stat agrees, nothing is
read; where it does not (a copied or touched file), the shard is hashed again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from dataclasses import asdict
from typing import TYPE_CHECKING

from streamworthy.sample.reference import stored_digests
from streamworthy.sample.spec import FORMAT_VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from streamworthy.sample.spec import SampleSpec


def record_path(folder: Path, spec: SampleSpec) -> Path:
    """Where the record of a sample is."""
    return folder / f"{spec.prefix}.json"


def manifest_path(folder: Path, spec: SampleSpec) -> Path:
    """Where the digests are in sha256sum's format, to be checked by anyone."""
    return folder / f"{spec.prefix}.sha256"


def set_paths(folder: Path, spec: SampleSpec) -> tuple[Path, ...]:
    """List all files of a sample: the record first, as without it the rest does not count."""
    return (
        record_path(folder, spec),
        manifest_path(folder, spec),
        *(folder / name for name in spec.shard_names),
    )


def is_intact(folder: Path, spec: SampleSpec) -> bool:
    """Tell whether all shards are there with the recorded bytes. Refreshes a record whose stat entries are out of date.

    A byte changed in place, with all of inode, size, mtime and ctime put back, is left to ``integrity.hashes``.
    """
    recorded = _recorded_digests(folder, spec)
    if recorded is None or stored_digests(spec) not in (None, tuple(recorded)):
        return False
    try:
        if _stats(folder, spec) == _recorded_stats(folder, spec) and manifest_path(folder, spec).exists():
            return True
        if hash_shards(folder, spec) != recorded:
            return False
    except OSError:
        return False
    with contextlib.suppress(OSError):  # a folder on read-only media: hashed each time, and usable
        write_record(folder, spec, recorded)
    return True


def hash_shards(folder: Path, spec: SampleSpec) -> list[str]:
    """Give the SHA-256 of each shard in hex. Raises OSError."""
    return [_hash(folder / name) for name in spec.shard_names]


def write_record(folder: Path, spec: SampleSpec, digests: Sequence[str]) -> None:
    """Write the manifest, then the record that makes the set count, each in one step. Raises OSError."""
    lines = "".join(f"{digest}  {name}\n" for digest, name in zip(digests, spec.shard_names, strict=True))
    _write(manifest_path(folder, spec), lines)
    record = {"spec": _spec_fields(spec), "sha256": list(digests), "stats": _stats(folder, spec)}
    _write(record_path(folder, spec), json.dumps(record, indent=1))


def _recorded_digests(folder: Path, spec: SampleSpec) -> list[str] | None:
    record = _record(folder, spec)
    digests = record.get("sha256")
    return digests if record.get("spec") == _spec_fields(spec) and isinstance(digests, list) else None


def _recorded_stats(folder: Path, spec: SampleSpec) -> object:
    return _record(folder, spec).get("stats")


def _record(folder: Path, spec: SampleSpec) -> dict[str, object]:
    try:
        record = json.loads(record_path(folder, spec).read_text())
    except (OSError, ValueError):
        return {}  # no usable record means: make the sample anew
    return record if isinstance(record, dict) else {}


def _spec_fields(spec: SampleSpec) -> dict[str, int]:
    return {"format_version": FORMAT_VERSION, **asdict(spec)}


def _stats(folder: Path, spec: SampleSpec) -> list[list[int]]:
    stats = [(folder / name).stat() for name in spec.shard_names]
    return [[stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns] for stat in stats]


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
