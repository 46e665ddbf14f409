"""Fixtures of the bench's tests."""

from __future__ import annotations

import pytest

from tests.selftest.bench.disk_file import make_disk_file
from tests.selftest.filesystems.mounts import need_root, overlay


@pytest.fixture
def overlaid(tmp_path):
    """Give a resident file on overlayfs, where cachestat looks at the wrong inode."""
    need_root()
    lower = tmp_path / "lower"
    lower.mkdir()
    make_disk_file(lower)
    with overlay(tmp_path, lower) as merged:
        path = merged / "shard.gguf"
        path.read_bytes()
        yield path
