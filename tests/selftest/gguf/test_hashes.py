"""Hashing a set of shards against its manifest: results, the store, failures, progress and Ctrl-C."""

import hashlib
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from streamworthy.errors import ProbeError
from streamworthy.facts.integrity import ExpectedHash, FileHash, HashFacts, Manifest, ShardHash
from streamworthy.gguf.hash_cache import HashCache
from streamworthy.gguf.hashes import hash_files, make_manifest, verify

NOW = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@pytest.fixture
def shards(tmp_path):
    """Three shards of different sizes."""
    files = tuple(tmp_path / f"m-0000{number}-of-00003.gguf" for number in (1, 2, 3))
    for file, size in zip(files, (1000, 3_000_000, 10_000_000), strict=True):
        file.write_bytes(os.urandom(size))
    return files


def sha256(file):
    """Hash by the library's own way: all at once."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def manifest(shards, **changed):
    """Make a manifest of what the shards hold, but for the digests given by file name."""
    return Manifest(
        sources=("SHA256SUMS",),
        expected=tuple(
            ExpectedHash(
                path=shard,
                algorithm="sha256",
                digest=changed.get(shard.name[2:7], sha256(shard)),
                source="SHA256SUMS, line 1",
                download=(),
                revision="",
            )
            for shard in shards
        ),
        tensors=(),
        unlisted=(),
        missing=(),
        unknown=(),
    )


def check(shards, listed, cache=None, *, rehash=False):
    """Verify without progress."""
    return verify(shards, listed, cache=cache, rehash=rehash, progress=None)


def test_every_shard_is_held_against_its_line(shards):
    """The facts hold expected and found of each shard, in the order of the shards, and what was read."""
    listed = manifest(shards)
    facts = check(shards, listed)
    times = {shard.found.hashed_at for shard in facts.shards}
    assert all(NOW.fullmatch(moment) for moment in times)
    assert facts == HashFacts(
        manifest=listed,
        shard_count=3,
        shards=tuple(
            ShardHash(
                expected=entry,
                found=FileHash(digest=sha256(shard), hashed_at=facts.shards[number].found.hashed_at, stored=False),
            )
            for number, (shard, entry) in enumerate(zip(shards, listed.expected, strict=True))
        ),
        tensors=(),
        unchecked=(),
        unread=(),
        read_bytes=13_001_000,
        read_seconds=facts.read_seconds,
        store_note="hash results are not kept",
        far="",
    )
    assert facts.read_seconds > 0


def test_one_changed_byte(shards):
    """A shard of the right size with one wrong byte does not match; the others do."""
    listed = manifest(shards)
    with shards[1].open("r+b") as out:
        out.seek(2_999_999)
        out.write(b"?" if shards[1].read_bytes()[-1:] != b"?" else b"!")
    assert [shard.matches for shard in check(shards, listed).shards] == [True, False, True]


def test_gits_hash(tmp_path):
    """A small file of a repository is known by git's hash of it."""
    file = tmp_path / "m.gguf"
    file.write_bytes(b"hello\n")
    hashed = hash_files({file: "git-sha1"}, cache=None, rehash=False, progress=None)
    assert hashed.found[file].digest == "ce013625030ba8dba906f756967f9e9ca394464a"


def test_without_a_manifest_nothing_is_read(shards):
    """Hundreds of gigabytes are not hashed to be compared with nothing."""
    facts = check(shards, None)
    assert (facts.manifest, facts.shard_count, facts.shards, facts.read_bytes) == (None, 3, (), 0)


def test_the_second_run_reads_nothing(shards, tmp_path):
    """A result stands while its file is the same, and says since when."""
    cache = HashCache(tmp_path / "store")
    first = check(shards, manifest(shards), cache)
    second = check(shards, manifest(shards), cache)
    assert second.read_bytes == 0
    assert [shard.found for shard in second.shards] == [
        FileHash(digest=shard.found.digest, hashed_at=shard.found.hashed_at, stored=True) for shard in first.shards
    ]


def test_only_what_changed_is_read_again(shards, tmp_path):
    """A shard that was replaced is hashed again, alone."""
    cache = HashCache(tmp_path / "store")
    check(shards, manifest(shards), cache)
    shards[0].write_bytes(b"other")
    facts = check(shards, manifest(shards), cache)
    assert (facts.read_bytes, [shard.matches for shard in facts.shards]) == (5, [True, True, True])


def test_rehash_reads_everything(shards, tmp_path):
    """The stored results are passed over when asked to."""
    cache = HashCache(tmp_path / "store")
    check(shards, manifest(shards), cache)
    facts = check(shards, manifest(shards), cache, rehash=True)
    assert (facts.read_bytes, any(shard.found.stored for shard in facts.shards)) == (13_001_000, False)


def test_a_store_that_cannot_be_written(shards, tmp_path):
    """A read-only home costs the store, not the verdict, and is said."""
    (tmp_path / "file").write_text("in the way")
    facts = check(shards, manifest(shards), HashCache(tmp_path / "file"))
    assert [shard.matches for shard in facts.shards] == [True, True, True]
    assert facts.store_note.startswith("hash results are not kept: ")


def test_a_shard_that_cannot_be_opened(shards):
    """A shard that does not open is named before anything is hashed."""
    listed = manifest(shards)
    shards[2].unlink()
    with pytest.raises(ProbeError, match=r"m-00003-of-00003\.gguf: cannot be read: No such file") as caught:
        check(shards, listed)
    assert caught.value.fix == f"ls -lL {shards[2]}"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_shard_without_permission(shards):
    """A shard that may not be read is named with the reason."""
    listed = manifest(shards)
    shards[2].chmod(0)
    with pytest.raises(ProbeError, match="Permission denied"):
        check(shards, listed)


def test_a_shard_that_fails_while_it_is_read(shards, tmp_path):
    """One shard's failure does not lose the others' results."""
    folder = tmp_path / "folder.gguf"
    folder.mkdir()
    hashed = hash_files(
        {shards[0]: "sha256", folder: "sha256", shards[1]: "sha256"}, cache=None, rehash=False, progress=None
    )
    assert list(hashed.found) == [shards[0], shards[1]]
    assert hashed.failures == ("folder.gguf: cannot be read: Is a directory",)


def test_a_manifest_is_made(shards):
    """What is written is what sha256sum would write."""
    text = make_manifest(shards, cache=None, rehash=False, progress=None)
    assert text == "".join(f"{sha256(shard)}  {shard.name}\n" for shard in shards)


SLOW = """
import sys, time
from pathlib import Path
from streamworthy.gguf import hashes, whole_files
from streamworthy.gguf.hash_cache import HashCache
from streamworthy.gguf.hash_reading import reading
from contextlib import contextmanager

@contextmanager
def endless(path, *, ahead):  # the second file never ends
    with reading(path, ahead=ahead) as pieces:
        yield pieces if path.name == "a" else forever(path)

def forever(path):
    while True:
        time.sleep(0.01)
        yield memoryview(b"x")

hashes.reading = endless
files = {Path(name): "sha256" for name in sys.argv[2:]}
whole_files._PROGRESS_SECONDS = (0.1, 0.1)
hashes.hash_files(files, cache=HashCache(Path(sys.argv[1])), rehash=False, progress=lambda at: print(at, flush=True))
"""


def test_ctrl_c_keeps_what_is_done(tmp_path):
    """Ctrl-C ends at once, without a hanging thread; the shards that were done need not be read again."""
    for name in "ab":
        (tmp_path / name).write_bytes(b"content")
    store = tmp_path / "store"
    command = [sys.executable, "-c", textwrap.dedent(SLOW), str(store), str(tmp_path / "a"), str(tmp_path / "b")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and not (store.is_dir() and list(store.glob("*.json"))):
            time.sleep(0.02)
        assert child.stdout.readline().startswith("hashing: ")
        child.send_signal(signal.SIGINT)
        begin = time.monotonic()
        _, told = child.communicate(timeout=30)
    assert time.monotonic() - begin < 10
    assert child.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in told
    assert [path.suffix for path in store.iterdir()] == [".json"]


def test_no_thread_is_left(shards):
    """After a run all threads have ended."""
    check(shards, manifest(shards))
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("hash")]
