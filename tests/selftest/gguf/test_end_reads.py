"""The last byte of each extent, read from real files: sound ones, one in pieces, and one on a drive that fails."""

from __future__ import annotations

import os
import time

import pytest

from streamworthy.criteria import integrity
from streamworthy.facts.shards import EndReads
from streamworthy.gguf.end_reads import read_ends
from streamworthy.gguf.subject import Subject
from streamworthy.probes.extents import _all_extents, probe_extent_ends
from streamworthy.verdict import Word
from tests.selftest.criteria.asked import limit
from tests.selftest.filesystems.mounts import filesystem, need_root
from tests.selftest.gguf.build import F32, Tensor, build

LATER = 60.0


def ask(path, seconds=LATER):
    """Read the ends of a file within so many seconds."""
    with path.open("rb") as file:
        return read_ends(path, file.fileno(), time.monotonic() + seconds)


def ends(path):
    """Give the offsets behind a file's extents."""
    with path.open("rb") as file:
        return probe_extent_ends(file.fileno(), path.stat().st_size)


def write(path, raw):
    """Write a file and have it on its disk, not in memory."""
    path.write_bytes(raw)
    with path.open("rb") as file:
        os.fsync(file.fileno())
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return path


@pytest.mark.parametrize("size", [1, 4095, 4096, 4097, 300_000])
def test_a_sound_file_is_read_to_its_end(tmp_path, size):
    """Whatever its size is to a sector."""
    path = write(tmp_path / "a", os.urandom(size))
    found = ask(path)
    assert (found.failed_byte, found.error, found.read_count) == (None, "", found.extents_count)
    assert ends(path)[-1] == size


def test_an_empty_file_has_no_end(tmp_path):
    """Nothing is read, nothing failed."""
    (tmp_path / "a").touch()
    assert ask(tmp_path / "a") == EndReads(extents_count=0, read_count=0, failed_byte=None, error="")


def test_pieces_with_holes_between_have_ends_of_their_own(tmp_path):
    """Each is read; holes are not."""
    path = tmp_path / "a"
    with path.open("wb") as file:
        for number in range(4):
            file.seek(number * 2**20)
            file.write(os.urandom(8192))
    write_back(path)
    if len(ends(path)) == 1:
        pytest.skip("this filesystem tells no extents")
    assert len(ends(path)) >= 4  # some filesystems allocate ahead
    assert ask(path).read_count == len(ends(path))


def write_back(path):
    """Have a file on its disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def test_when_time_is_up_the_end_of_the_file_has_been_read(tmp_path):
    """It is the first, since most damage is there."""
    path = tmp_path / "a"
    with path.open("wb") as file:
        for number in range(4):
            file.seek(number * 2**20)
            file.write(os.urandom(8192))
    write_back(path)
    found = ask(path, seconds=-1.0)
    assert (found.read_count, found.extents_count) == (1, len(ends(path)))


@pytest.mark.root
def test_a_drive_that_cannot_give_a_stretch_back_is_found(tmp_path):
    """A loop device whose file was cut below the end of a shard: the gate fails with shard and byte."""
    need_root()
    with filesystem(tmp_path, "ext4") as (_, point):
        tensors = (Tensor("a", (1024, 1024), F32, os.urandom(4 * 2**20)),)
        sound = write(point / "m-00001-of-00002.gguf", build(tensors=tensors))
        write(point / "m-00002-of-00002.gguf", build(tensors=tensors))
        facts = Subject(sound).extents
        assert integrity.extents(facts, limit()).word is Word.PASS
        os.truncate(tmp_path / "ext4.image", physical_end(sound) - 2**20)
        found = Subject(sound).extents.shards[0].ends
        verdict = integrity.extents(Subject(sound).extents, limit())
        os.truncate(tmp_path / "ext4.image", 400 * 2**20)
    assert (found.error, found.failed_byte) == ("EIO", sound_size(facts) - 1)
    assert (verdict.word, "EIO" in verdict.cause) == (Word.FAIL, True)


def sound_size(facts):
    """Give the size of the first shard."""
    return facts.shards[0].have_bytes


def physical_end(path):
    """Give where on its device a file's last extent ends."""
    with path.open("rb") as file:
        _, physical, length, _ = list(_all_extents(file.fileno()))[-1]
    return physical + length
