"""Keeps hash results, so that hundreds of gigabytes are read once: a result stands until its file changes.

An entry is bound to the real path, inode, size, mtime and ctime of the file. ctime is in it because
``rsync --inplace --times`` repairs a file without changing any of the others.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path

from streamworthy.facts.integrity import FileHash
from streamworthy.probes.home import probe_cache_folder


def identify(path: Path, algorithm: str) -> dict[str, str | int]:
    """Give what a result is bound to. Raises OSError."""
    real = path.resolve(strict=True)
    status = real.stat()
    return {
        "path": os.fsencode(real).hex(),
        "algorithm": algorithm,
        "inode": status.st_ino,
        "size_bytes": status.st_size,
        "mtime_ns": status.st_mtime_ns,
        "ctime_ns": status.st_ctime_ns,
    }


class HashCache:
    """Results in a folder, one small JSON file for each path; ``note`` says why one could not be kept."""

    def __init__(self, folder: Path | None) -> None:
        """Take a folder, made when the first result is kept; None where there is no place for one."""
        self.folder = folder
        self.note = "" if folder else "hash results are not kept: there is no home folder"

    def load(self, identity: dict[str, str | int]) -> FileHash | None:
        """Give the result that stands for a file; None when there is none, or when its entry is damaged."""
        if self.folder is None:
            return None
        try:
            entry = json.loads((self.folder / _name(identity)).read_bytes())
            result = entry["result"]
            if entry["identity"] != identity or entry["check"] != _check(identity, result):
                return None
            return FileHash(digest=result["digest"], hashed_at=result["hashed_at"], stored=True)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None

    def store(self, identity: dict[str, str | int], found: FileHash) -> None:
        """Keep a result, replacing the path's former one in one step."""
        if self.folder is None:
            return
        result = {"digest": found.digest, "hashed_at": found.hashed_at}
        entry = {"identity": identity, "result": result, "check": _check(identity, result)}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            _write_whole((self.folder / _name(identity)), json.dumps(entry, indent=1))
        except OSError as error:
            self.note = f"hash results are not kept: {self.folder}: {error.strerror}"


def default_cache() -> HashCache:
    """Give the user's store: ``$XDG_CACHE_HOME/streamworthy/hashes``, by default below ``~/.cache``."""
    folder = probe_cache_folder()
    return HashCache(None if folder is None else folder / "streamworthy" / "hashes")


def _name(identity: dict[str, str | int]) -> str:
    key = f"{identity['algorithm']} {identity['path']}"
    return f"{hashlib.sha256(key.encode()).hexdigest()[:40]}.json"


def _check(identity: dict[str, str | int], result: dict[str, str]) -> str:
    text = json.dumps([identity, result], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _write_whole(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(text)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
