"""Getting files out of the page cache and into it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from streamworthy.bench.evict import evict, warm
from streamworthy.bench.residency import residency
from streamworthy.errors import ProbeError
from tests.selftest.bench.disk_file import SIZE, make_disk_file

_MAP_AND_WAIT = """
import mmap, sys
with open(sys.argv[1], 'rb') as file:
    area = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    sum(area[::4096])
    print('mapped', flush=True)
    sys.stdin.read()
"""


def test_an_evicted_file_is_verified_cold(tmp_path):
    """At most 1 % stays, and nothing is said to have been kept."""
    found = evict([make_disk_file(tmp_path, "a"), make_disk_file(tmp_path, "b")])

    assert found.after.share <= 0.01
    assert found.after.total_bytes == 2 * SIZE
    assert found.kept == ""


def test_dirty_pages_are_written_first(tmp_path):
    """A file that was just written can be evicted."""
    path = make_disk_file(tmp_path)
    path.write_bytes(os.urandom(SIZE))

    assert evict([path]).kept == ""


def test_a_mapped_file_stays_and_its_user_is_named(tmp_path):
    """The reason has the process's name and id, and the wait is bounded."""
    path = make_disk_file(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", _MAP_AND_WAIT, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        other.stdout.readline()
        found = evict([path], patience_seconds=0.1)
        other.stdin.close()

    assert found.kept.startswith("100.0 % stays in the page cache: mapped by python")
    assert f"(pid {other.pid})" in found.kept
    assert found.seconds < 5.0


def test_a_file_that_cannot_be_opened_is_an_error(tmp_path):
    """The message names the file."""
    with pytest.raises(ProbeError, match="gone: cannot be opened"):
        evict([tmp_path / "gone"])


def test_warming_brings_all_pages(tmp_path):
    """After warm the files are resident."""
    paths = [make_disk_file(tmp_path, "a"), make_disk_file(tmp_path, "b")]
    evict(paths)

    assert warm(paths, 2 * SIZE).share == 1.0


@pytest.mark.parametrize(
    ("budget", "resident"), [(SIZE - 1, 0), (SIZE, SIZE), (2 * SIZE - 1, SIZE), (2 * SIZE, 2 * SIZE)]
)
def test_warming_stays_within_its_budget(tmp_path, budget, resident):
    """A file that would exceed the budget is not read."""
    paths = [make_disk_file(tmp_path, "a"), make_disk_file(tmp_path, "b")]
    evict(paths)

    warm(paths, budget)

    assert residency(paths).resident_bytes == resident
