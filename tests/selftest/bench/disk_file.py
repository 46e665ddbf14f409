"""Files on a disk for tests that look at the page cache. Not a test."""

from __future__ import annotations

import os

import pytest

from streamworthy.bench.evict import evict

SIZE = 4 * 2**20


def make_disk_file(folder, name="shard.gguf", size=SIZE):
    """Make a file of random bytes, all in the page cache; skips where the file system never gives its pages back."""
    path = folder / name
    path.write_bytes(os.urandom(size))
    if not hasattr(os, "posix_fadvise"):
        pytest.skip("this system has no posix_fadvise")
    if evict([path]).kept:
        pytest.skip(f"the file system of {folder} never gives pages back (tmpfs?)")
    path.read_bytes()
    return path
