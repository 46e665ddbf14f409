"""Fixtures of the bench's tests."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.selftest.bench.disk_file import make_disk_file


@pytest.fixture
def overlaid(tmp_path):
    """Give a resident file on overlayfs, where cachestat looks at the wrong inode."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    lower, upper, work, merged = (tmp_path / name for name in ("lower", "upper", "work", "merged"))
    for folder in (lower, upper, work, merged):
        folder.mkdir()
    make_disk_file(lower)
    options = f"lowerdir={lower},upperdir={upper},workdir={work}"
    command = ["mount", "-t", "overlay", "overlay", "-o", options, str(merged)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("overlayfs cannot be mounted here")
    try:
        path = merged / "shard.gguf"
        path.read_bytes()
        yield path
    finally:
        subprocess.run(["umount", str(merged)], check=True)
