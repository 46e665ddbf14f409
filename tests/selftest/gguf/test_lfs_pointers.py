"""Git LFS pointers as files, and as the manifest of the shards whose names they have."""

import pytest

from streamworthy.errors import UsageError
from streamworthy.facts.integrity import ExpectedHash
from streamworthy.gguf.lfs_pointers import read_pointer
from streamworthy.gguf.manifest import find_manifest

A, B = "a" * 64, "b" * 64
NAMES = ("m-00001-of-00002.gguf", "m-00002-of-00002.gguf")


def pointer(digest):
    """Text of a Git LFS pointer."""
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize 1000\n"


def expected(path, digest, source):
    """Give what a pointer says of one shard."""
    return ExpectedHash(path=path, algorithm="sha256", digest=digest, source=source, download=(), revision="")


@pytest.fixture
def shards(tmp_path):
    """Two shards in a folder of their own."""
    folder = tmp_path / "models"
    folder.mkdir()
    for name in NAMES:
        (folder / name).write_bytes(b"content")
    return tuple(folder / name for name in NAMES)


def test_a_pointer_is_read_and_nothing_else_is_one(tmp_path):
    """A long file that begins like one is none."""
    path = tmp_path / "p"
    path.write_text(pointer(A))
    assert (read_pointer(path).sha256, read_pointer(path).size_bytes) == (A, 1000)
    path.write_text(pointer(A) + "x" * 2000)
    assert read_pointer(path) is None


def test_a_folder_of_git_lfs_pointers(tmp_path, shards):
    """As a clone without the content has them: each names the hash of the file in whose place it lies."""
    folder = tmp_path / "clone"
    folder.mkdir()
    (folder / NAMES[0]).write_text(pointer(A))
    found = find_manifest(shards, folder)
    assert found.expected == (expected(shards[0], A, f"the Git LFS pointer {folder / NAMES[0]}"),)
    assert (found.sources, found.unlisted) == ((f"Git LFS pointers in {folder}",), (NAMES[1],))


def test_one_git_lfs_pointer(tmp_path, shards):
    """It is the manifest of the shard whose name it has."""
    (tmp_path / NAMES[1]).write_text(pointer(B))
    found = find_manifest(shards, tmp_path / NAMES[1])
    assert found.expected == (expected(shards[1], B, f"{NAMES[1]}, line 2"),)


def test_a_folder_without_pointers(tmp_path, shards):
    """Whole shards in it are no manifest."""
    (tmp_path / NAMES[0]).write_bytes(b"GGUF" * 1000)
    with pytest.raises(UsageError, match="no Git LFS pointer under a shard's name"):
        find_manifest(shards, tmp_path)
