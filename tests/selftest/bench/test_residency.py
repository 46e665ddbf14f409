"""What the page cache holds, asked in three ways."""

from __future__ import annotations

import pytest

from streamworthy.bench.evict import evict
from streamworthy.bench.residency import residency
from streamworthy.errors import ProbeError
from streamworthy.facts.episode import Residency
from tests.selftest.bench.disk_file import SIZE, make_disk_file


def test_each_way_sees_a_file_that_was_just_read(tmp_path):
    """cachestat, mincore and the sample agree on 100 %."""
    path = make_disk_file(tmp_path)

    mincore = residency([path], without={"cachestat"})
    sample = residency([path], without={"cachestat", "mincore"})

    assert residency([path]).share == 1.0
    assert mincore == Residency(resident_bytes=SIZE, total_bytes=SIZE, method="mincore")
    assert sample == Residency(resident_bytes=SIZE, total_bytes=SIZE, method="nowait sample")


def test_each_way_sees_that_an_evicted_file_is_gone(tmp_path):
    """cachestat, mincore and the sample agree on 0 %; the sample goes last, because it reads what it misses."""
    path = make_disk_file(tmp_path)
    evict([path])

    assert residency([path]).resident_bytes == 0
    assert residency([path], without={"cachestat"}).resident_bytes == 0
    assert residency([path], without={"cachestat", "mincore"}).share < 0.05


def test_a_part_counts_in_bytes(tmp_path):
    """Two files, one of them evicted, are half resident."""
    kept, dropped = make_disk_file(tmp_path, "a"), make_disk_file(tmp_path, "b")
    evict([dropped])

    assert residency([kept, dropped]).share == 0.5


def test_an_empty_file_is_wholly_resident(tmp_path):
    """Nothing to read means nothing is missing."""
    path = tmp_path / "empty"
    path.touch()

    assert residency([path]).share == 1.0


def test_a_missing_file_is_an_error_that_names_it(tmp_path):
    """The path and the reason stand in the message."""
    with pytest.raises(ProbeError, match=r"shard\.gguf: cannot be opened.*No such file"):
        residency([tmp_path / "shard.gguf"])


def test_no_interface_is_an_error(tmp_path):
    """Unknown is never taken for cold."""
    path = make_disk_file(tmp_path)

    with pytest.raises(ProbeError, match="no interface of this kernel"):
        residency([path], without={"cachestat", "mincore", "nowait sample"})


@pytest.mark.root
def test_overlayfs_is_asked_by_mincore(overlaid):
    """Cachestat says 0 % for a resident file on overlayfs."""
    assert residency([overlaid]) == Residency(resident_bytes=SIZE, total_bytes=SIZE, method="mincore")
