"""The sample's shards, and what is judged of the disk that everything else lies on."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.selftest.filesystems.ground import find_ground
from tests.selftest.filesystems.mounts import need_root


@pytest.fixture(scope="session")
def ground():
    """Give the ground of all layouts; skips where none can be built."""
    need_root()
    with tempfile.TemporaryDirectory(prefix="streamworthy-filesystems-") as folder, find_ground(Path(folder)) as found:
        if not found.fit:
            pytest.skip("needs its temporary folder on ext4 or xfs on a local disk that sysfs shows: set TMPDIR")
        yield found
