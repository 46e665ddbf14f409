"""Reading for hashing: every byte once and in order, by each way of reading, and the page cache as it was."""

import hashlib
import os
import threading
from pathlib import Path

import pytest

from streamworthy.bench.evict import evict
from streamworthy.bench.residency import residency
from streamworthy.errors import ProbeError
from streamworthy.gguf import hash_reading
from streamworthy.gguf.hash_reading import reading
from streamworthy.probes.sysroot import Sysroot
from tests.selftest.filesystems.mounts import mounted, need_root

MIB = 2**20
SIZES = [0, 1, 4095, 4096, 4097, MIB - 1, MIB, MIB + 1, 4 * MIB, 17 * MIB + 12345]


def make(folder, size):
    """Make a file of incompressible bytes, on its disk."""
    file = folder / f"{size}.gguf"
    with file.open("wb") as out:
        out.write(os.urandom(size))
        os.fsync(out.fileno())
    return file


def chill(file):
    """Take a file out of the page cache, or skip where that is not possible."""
    try:
        evict((file,))
        share = residency((file,)).share
    except ProbeError as error:
        pytest.skip(error.message)
    if share > 0.01:
        pytest.skip("pages stay in this file system's cache")


def read(file, *, ahead=False, **options):
    """Hash a file by the way under test."""
    digest = hashlib.sha256()
    with reading(file, ahead=ahead, **options) as pieces:
        for piece in pieces:
            digest.update(piece)
    return digest.hexdigest()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("ahead", [False, True])
def test_cached_files(tmp_path, size, ahead):
    """A cached file is read whole, at every size around a chunk's edge, and stays cached."""
    file = make(tmp_path, size)
    assert read(file, ahead=ahead) == hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.mark.parametrize("size", SIZES[1:])
def test_cold_files(tmp_path, size):
    """A cold file is read whole, and is as cold afterwards."""
    file = make(tmp_path, size)
    expected = hashlib.sha256(file.read_bytes()).hexdigest()
    chill(file)
    found = read(file)
    assert residency((file,)).resident_bytes == 0
    assert found == expected


def test_cold_files_without_direct_reads(tmp_path):
    """Without direct reads a cold file is read through the cache, and what was brought in is dropped again."""
    file = make(tmp_path, 17 * MIB + 12345)
    expected = hashlib.sha256(file.read_bytes()).hexdigest()
    chill(file)
    found = read(file, direct_flag=0)
    assert residency((file,)).share <= 0.01
    assert found == expected


@pytest.mark.parametrize("read_ahead", [0, 4 * MIB - 1, 4 * MIB])
def test_cold_files_are_read_by_the_way_that_keeps_more_in_flight(tmp_path, monkeypatch, read_ahead):
    """Below, at and above what direct reads keep in flight a file is read whole and is as cold afterwards."""
    file = make(tmp_path, 33 * MIB + 12345)
    expected = hashlib.sha256(file.read_bytes()).hexdigest()
    monkeypatch.setattr(hash_reading, "read_ahead_bytes", lambda _: read_ahead)
    chill(file)
    found = read(file)
    assert residency((file,)).share <= 0.01
    assert found == expected


@pytest.mark.parametrize(
    ("place", "text", "told"),
    [
        ("sys/class/bdi/8:1", "128\n", 128 * 1024),
        ("sys/dev/block/8:1/queue", "8192\n", 8 * MIB),
        ("sys/class/bdi/8:2", "128\n", 0),
        ("sys/class/bdi/8:1", "many\n", 0),
    ],
)
def test_read_ahead_is_found_by_the_device_of_the_file(tmp_path, place, text, told):
    """The setting of a whole disk or of a filesystem's own device; none where the kernel tells none."""
    (tmp_path / place).mkdir(parents=True)
    (tmp_path / place / "read_ahead_kb").write_text(text)
    (tmp_path / "machine.toml").write_text("")
    assert hash_reading.read_ahead_bytes(os.makedev(8, 1), Sysroot(tmp_path)) == told


def test_half_cached_files_keep_their_pages(tmp_path):
    """A file that is cached in part is as it was afterwards."""
    file = make(tmp_path, 32 * MIB)
    expected = hashlib.sha256(file.read_bytes()).hexdigest()
    chill(file)
    handle = os.open(file, os.O_RDONLY)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_RANDOM)
    os.pread(handle, 8 * MIB, 0)
    os.close(handle)
    before = residency((file,)).resident_bytes
    assert read(file) == expected
    assert residency((file,)).resident_bytes == before


@pytest.mark.skipif(not os.path.exists("/proc/version"), reason="no /proc here")  # noqa: PTH110
def test_a_file_system_that_refuses_direct_reads():
    """Where the system refuses the flag, as /proc does, the file is opened without it."""
    handle, direct = hash_reading.open_past_cache(Path("/proc/version"), 0.0)
    os.close(handle)
    assert not direct


@pytest.mark.root
def test_a_file_system_in_memory(tmp_path):
    """On tmpfs, where direct reads make no sense, a file is read whole."""
    need_root()
    with mounted(tmp_path, "mount", "-t", "tmpfs", "tmpfs"):
        file = make(tmp_path, 5 * MIB + 1)
        assert read(file) == hashlib.sha256(file.read_bytes()).hexdigest()


def _append(file):
    with file.open("ab") as out:
        out.write(b"more")


@pytest.mark.parametrize(
    "change",
    [
        _append,
        lambda file: os.utime(file, ns=(1, 1)),
        lambda file: make(file.parent, 3).replace(file),
        lambda file: os.truncate(file, 5 * MIB),
    ],
    ids=["grows", "is rewritten", "is replaced", "shrinks"],
)
@pytest.mark.parametrize("cold", [False, True])
def test_a_file_that_changes_meanwhile(tmp_path, change, cold):
    """A file that changes while it is read has no hash."""
    file = make(tmp_path, 40 * MIB)
    if cold:
        chill(file)
    with pytest.raises(ProbeError, match="while it was read"), reading(file, ahead=False) as pieces:  # noqa: PT012
        next(pieces)
        change(file)
        for _ in pieces:
            pass


def test_a_file_that_vanishes_meanwhile(tmp_path):
    """A file that is removed while it is read is an error of the system's."""
    file = make(tmp_path, MIB)
    with pytest.raises(FileNotFoundError), reading(file, ahead=False):
        file.unlink()


def test_leaving_early_ends_the_readers(tmp_path):
    """Whoever stops in the middle leaves no thread and no open file behind."""
    file = make(tmp_path, 40 * MIB)
    chill(file)
    handles = len(list(Path("/proc/self/fd").iterdir()))

    def stop_in_the_middle():
        with reading(file, ahead=False) as pieces:
            next(pieces)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop_in_the_middle()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("hash-read")]
    assert len(list(Path("/proc/self/fd").iterdir())) == handles


def test_reads_are_multiples_of_every_block():
    """Direct reads need offsets and lengths that fit the largest blocks and pages there are (64 KiB)."""
    assert hash_reading._CHUNK_BYTES % (64 * 2**10) == 0
