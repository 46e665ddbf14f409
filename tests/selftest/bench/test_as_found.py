"""Looking into a file without changing what the page cache holds of it."""

from __future__ import annotations

import os

from streamworthy.bench.as_found import as_found
from streamworthy.bench.evict import evict
from streamworthy.bench.residency import residency
from tests.selftest.bench.disk_file import make_disk_file

MIB = 2**20


def test_what_was_read_inside_is_dropped_again(tmp_path):
    """A header that was not in the cache is not there afterwards, and one that was stays."""
    warm, cold = make_disk_file(tmp_path, "warm"), make_disk_file(tmp_path, "cold")
    evict([cold])
    with as_found([warm, cold]):
        for path in (warm, cold):
            with path.open("rb", buffering=0) as file:
                file.read(100)
        assert residency([cold]).resident_bytes > 0
    assert residency([cold]).resident_bytes == 0
    assert residency([warm]).share == 1.0


def test_what_was_there_in_part_stays(tmp_path):
    """Only parts that had no page before are dropped."""
    path = make_disk_file(tmp_path)
    evict([path])
    with path.open("rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        file.seek(MIB)
        file.read(8192)
        with as_found([path]):
            file.seek(0)
            file.read(3 * MIB)
    assert residency([path]).resident_bytes == 8192
