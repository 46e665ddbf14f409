"""Many short reads in flight, from processes of their own."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import pytest

from streamworthy.bench.direct_reads import DirectRefusedError, open_direct
from streamworthy.bench.random_child import measure_many, random_pieces
from streamworthy.errors import ProbeError
from tests.selftest.bench.disk_file import SIZE, make_disk_file

CHOOSER = random.Random(2)  # noqa: S311 - places, not secrets


@pytest.fixture
def shard(tmp_path):
    """A file that can be read directly."""
    path = make_disk_file(tmp_path)
    try:
        with open_direct([path]):
            pass
    except DirectRefusedError as error:
        pytest.skip(error.message)
    return path


def test_places_are_whole_blocks_of_all_files(tmp_path):
    """A file three times as large is read three times as often."""
    small, large = tmp_path / "small", tmp_path / "large"
    for path, blocks in ((small, 10), (large, 30)):
        path.touch()
        os.truncate(path, blocks * 4096 + 100)
    found = random_pieces([small, large], 4000, CHOOSER)
    assert {piece.offset_bytes % 4096 for piece in found} == {0}
    last = {path: max(piece.offset_bytes for piece in found if piece.path == path) for path in (small, large)}
    assert last == {small: 9 * 4096, large: 29 * 4096}
    assert 2700 < sum(piece.path == large for piece in found) < 3300


def test_reads_of_both_processes_are_counted(shard):
    """A tenth of a second of 32 reads in flight."""
    assert measure_many([shard], 0.1) > 100
    assert shard.stat().st_size == SIZE


def test_a_process_that_dies_is_an_error(tmp_path):
    """What cannot be read is no rate of zero."""
    with pytest.raises(ProbeError, match="a reading process ended with 1 and said nothing"):
        measure_many([tmp_path / "gone"], 0.1)


def test_a_process_that_is_not_told_to_go_ends(shard):
    """When its parent is gone, nothing is read and nothing is left."""
    done = subprocess.run(
        [sys.executable, "-m", "streamworthy.bench.random_child", "5", str(shard)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "ready\n")
