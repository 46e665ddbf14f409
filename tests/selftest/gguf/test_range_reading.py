"""Ranges of a file: any bounds, cached and cold, and what was cached before is cached after."""

import os

import numpy as np
import pytest

from streamworthy.bench.evict import evict
from streamworthy.bench.residency import residency
from streamworthy.errors import ProbeError
from streamworthy.gguf.range_reading import RangeReader

SIZE = 1_000_003


@pytest.fixture
def file(tmp_path):
    """A file of random bytes, on the disk."""
    path = tmp_path / "f"
    with path.open("wb") as handle:
        handle.write(np.random.default_rng(1).bytes(SIZE))
        handle.flush()
        os.fsync(handle.fileno())
    return path


@pytest.mark.parametrize("cold", [True, False])
def test_any_range_has_its_bytes(file, cold):
    """Aligned or not, up to the last byte of the file."""
    if cold:
        evict((file,))
    raw = np.fromfile(file, np.uint8) if not cold else None
    with RangeReader(file) as reader:
        ranges = [(0, 1), (0, SIZE), (4095, 2), (4096, 4096), (SIZE - 1, 1), (12345, 67890), (SIZE - 4096, 4096)]
        found = [reader.read(offset, size) for offset, size in ranges]
    raw = np.fromfile(file, np.uint8) if raw is None else raw
    for (offset, size), part in zip(ranges, found, strict=True):
        assert np.array_equal(part, raw[offset : offset + size])


@pytest.mark.parametrize("flag", ["direct", "refused"])
def test_a_cold_file_stays_cold(file, flag, monkeypatch):
    """Also where the filesystem refuses reads past the cache."""
    if evict((file,)).after.share > 0:
        pytest.skip("this filesystem does not let pages go")
    if flag == "refused":
        from streamworthy.gguf import range_reading

        whole = range_reading.open_past_cache
        monkeypatch.setattr(range_reading, "open_past_cache", lambda path, share: whole(path, share, direct_flag=0))
    with RangeReader(file) as reader:
        for offset in range(0, SIZE - 5000, 50_000):
            reader.read(offset, 5000)
    assert residency((file,)).resident_bytes == 0


def test_a_file_that_became_shorter(file):
    """It is an error, and no zeros are made up."""
    with RangeReader(file) as reader:
        os.truncate(file, 1000)
        with pytest.raises(ProbeError, match="became shorter while it was read"):
            reader.read(0, 1001)


def test_a_file_that_is_not_there(tmp_path):
    """It is named."""
    with pytest.raises(ProbeError, match="nothing"):
        RangeReader(tmp_path / "nothing")


def test_holes_are_told(tmp_path):
    """A place that was never written, the last one too."""
    path = tmp_path / "f"
    with path.open("wb") as file:
        file.write(b"x" * 65536)
        file.truncate(2**20)
        file.seek(2**19)
        file.write(b"y" * 65536)
    with path.open("rb") as file:
        if os.lseek(file.fileno(), 2**18, os.SEEK_DATA) == 2**18:
            pytest.skip("this filesystem does not tell holes")
    with RangeReader(path) as reader:
        assert [reader.is_hole(place) for place in (0, 2**18, 2**19, 2**20 - 1)] == [False, True, False, True]
