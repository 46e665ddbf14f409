"""The store of hash results: what a result is bound to, and what counts as absent."""

import json
import os

import pytest

from streamworthy.facts.integrity import FileHash
from streamworthy.gguf.hash_cache import HashCache, default_cache, identify

STORED = FileHash(digest="a" * 64, hashed_at="2026-01-31T12:00:00Z", stored=True)


@pytest.fixture
def shard(tmp_path):
    """Make a file to be hashed."""
    file = tmp_path / "a.gguf"
    file.write_bytes(b"content")
    return file


@pytest.fixture
def cache(tmp_path, shard):
    """Make a store that holds the shard's result."""
    store = HashCache(tmp_path / "store")
    store.store(identify(shard, "sha256"), STORED)
    return store


def test_a_stored_result_stands(cache, shard):
    """A result is found again by the same file, from a new store too."""
    assert HashCache(cache.folder).load(identify(shard, "sha256")) == STORED
    assert cache.note == ""


def test_another_algorithm_has_its_own_result(cache, shard):
    """A result of one algorithm says nothing about another."""
    assert cache.load(identify(shard, "git-sha1")) is None


def _rewrite_in_place_with_old_times(file):
    before = file.stat()
    with file.open("r+b") as out:
        out.write(b"Content")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def _replace(file):
    other = file.with_suffix(".new")
    other.write_bytes(b"content")
    os.utime(other, ns=(0, file.stat().st_mtime_ns))
    other.replace(file)


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file.write_bytes(b"more content"),
        lambda file: os.utime(file, ns=(0, 1)),
        _replace,
        _rewrite_in_place_with_old_times,
    ],
    ids=["size", "mtime", "inode", "content with the old times"],
)
def test_a_changed_file_has_no_result(cache, shard, change):
    """Whatever changes in the file, its result no longer stands."""
    change(shard)
    assert cache.load(identify(shard, "sha256")) is None


def test_a_copy_has_no_result(cache, shard):
    """A result belongs to one path."""
    other = shard.with_name("b.gguf")
    os.link(shard, other)
    assert cache.load(identify(other, "sha256")) is None


def test_a_link_shares_the_result_of_its_file(tmp_path, shard):
    """A snapshot's link and its blob are one file."""
    link = tmp_path / "link.gguf"
    link.symlink_to(shard)
    assert identify(link, "sha256") == identify(shard, "sha256")


def _damages():
    yield "empty", lambda _: ""
    yield "half", lambda text: text[: len(text) // 2]
    yield "a list", lambda _: "[]"
    yield "a number", lambda _: "7"
    yield "deep", lambda _: "[" * 100_000
    yield "another digest", lambda text: text.replace("a" * 64, "b" * 64)
    yield "another date", lambda text: text.replace("2026-01-31", "2027-01-31")
    yield "no check", lambda text: json.dumps({key: value for key, value in json.loads(text).items() if key != "check"})


@pytest.mark.parametrize("damage", [pytest.param(damage, id=name) for name, damage in _damages()])
def test_a_damaged_entry_is_absent(cache, shard, damage):
    """A damaged entry is neither believed nor an error, and the next result replaces it."""
    (entry,) = cache.folder.iterdir()
    entry.write_text(damage(entry.read_text()))
    assert cache.load(identify(shard, "sha256")) is None
    cache.store(identify(shard, "sha256"), STORED)
    assert cache.load(identify(shard, "sha256")) == STORED


def test_one_entry_for_each_path(cache, shard):
    """A new result replaces the old one, so that the store does not grow."""
    shard.write_bytes(b"new content")
    cache.store(identify(shard, "sha256"), STORED)
    assert len(list(cache.folder.iterdir())) == 1


def test_a_folder_that_cannot_be_made_is_said(tmp_path, shard):
    """Without a place to write, results are not kept, and that is said."""
    (tmp_path / "file").write_text("in the way")
    store = HashCache(tmp_path / "file" / "store")
    store.store(identify(shard, "sha256"), STORED)
    assert store.note == f"hash results are not kept: {tmp_path}/file/store: Not a directory"
    assert store.load(identify(shard, "sha256")) is None


def test_without_a_home(shard):
    """A user without a home folder has no store, and nothing fails."""
    store = HashCache(None)
    store.store(identify(shard, "sha256"), STORED)
    assert store.load(identify(shard, "sha256")) is None
    assert store.note == "hash results are not kept: there is no home folder"


def test_the_users_store(monkeypatch, tmp_path):
    """The store lies where the user's caches lie."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache().folder == tmp_path / "streamworthy" / "hashes"
