"""Which manifest is found for a set of shards, and what it says of each."""

import pytest

from streamworthy.errors import ProbeError, UsageError
from streamworthy.facts.integrity import ExpectedHash, Manifest
from streamworthy.gguf.manifest import find_manifest
from tests.selftest.gguf.test_hugging_face import cached, download

A, B, C = "a" * 64, "b" * 64, "c" * 64
NAMES = ("m-00001-of-00002.gguf", "m-00002-of-00002.gguf")


@pytest.fixture
def shards(tmp_path):
    """Two shards in a folder of their own."""
    folder = tmp_path / "models" / "Q4"
    folder.mkdir(parents=True)
    for name in NAMES:
        (folder / name).write_bytes(b"content")
    return tuple(folder / name for name in NAMES)


def sums(*pairs):
    """Text of a manifest."""
    return "".join(f"{digest}  {name}\n" for digest, name in pairs)


def expected(path, digest, source):
    """Give what a sha256sum file says of one shard."""
    return ExpectedHash(path=path, algorithm="sha256", digest=digest, source=source, download=(), revision="")


def test_the_users_manifest(tmp_path, shards):
    """Each shard gets the hash of its line, whatever the folder in the manifest."""
    file = tmp_path / "list.txt"
    file.write_text(sums((A, "/elsewhere/" + NAMES[0]), (B, ".\\dist\\" + NAMES[1])))
    assert find_manifest(shards, file) == Manifest(
        sources=("list.txt",),
        expected=(expected(shards[0], A, "list.txt, line 1"), expected(shards[1], B, "list.txt, line 2")),
        tensors=(),
        unlisted=(),
        missing=(),
        unknown=(),
    )


def test_names_that_do_not_pair(tmp_path, shards):
    """Shards without a line, shards of the set that are not there and strange names are each told."""
    file = tmp_path / "list.txt"
    file.write_text(sums((A, NAMES[0]), (C, "m-00003-of-00002.gguf"), (C, "README.md"), (C, "n-00001-of-00002.gguf")))
    found = find_manifest(shards, file)
    assert (found.unlisted, found.missing, found.unknown) == (
        (NAMES[1],),
        ("m-00003-of-00002.gguf",),
        ("README.md", "n-00001-of-00002.gguf"),
    )


def test_a_users_manifest_of_something_else(tmp_path, shards):
    """A manifest that the user named is used even when it lists none of the shards."""
    file = tmp_path / "list.txt"
    file.write_text(sums((A, "other.gguf")))
    assert find_manifest(shards, file).unlisted == NAMES


def test_a_users_manifest_that_is_none(tmp_path, shards):
    """A broken manifest of the user's is a usage error."""
    file = tmp_path / "list.txt"
    file.write_text("<html>")
    with pytest.raises(UsageError, match="line 1: found '<html>'"):
        find_manifest(shards, file)


@pytest.mark.parametrize(
    "name", ["SHA256SUMS", "sha256sum.txt", "model.sha256", "Model.SHA256SUM", "q4-sha256sums.txt", "SHA256SUM"]
)
def test_a_manifest_beside_the_shards(shards, name):
    """A sha256sum file is found by its name."""
    (shards[0].parent / name).write_text(sums((A, NAMES[0]), (B, NAMES[1])))
    assert [entry.source for entry in find_manifest(shards, None).expected] == [f"{name}, line 1", f"{name}, line 2"]


@pytest.mark.parametrize("name", ["SHA256SUMS.asc", "notes.txt", "m.sha256.py", "SHA512SUMS"])
def test_other_files_beside_the_shards(shards, name):
    """A file of another name is not read."""
    (shards[0].parent / name).write_text("<html>")
    assert find_manifest(shards, None) is None


def test_one_file_for_each_shard(shards):
    """`NAME.sha256` may hold nothing but the hash of NAME, and only of NAME."""
    for shard, digest in zip(shards, (A, B), strict=True):
        shard.with_name(f"{shard.name}.sha256").write_text(f"{digest}\n")
    assert [entry.digest for entry in find_manifest(shards, None).expected] == [A, B]


def test_a_manifest_of_other_files_beside_the_shards(shards):
    """A list that names no shard proves nothing, and is named, so that one sees which it was."""
    (shards[0].parent / "SHA256SUMS").write_text(sums((A, "other.gguf")))
    found = find_manifest(shards, None)
    assert (found.sources, found.expected, found.unlisted) == (("SHA256SUMS",), (), NAMES)
    assert found.unknown == ("other.gguf",)


def test_a_broken_manifest_beside_the_shards(shards):
    """A broken list is not passed over: it may be the one that matters."""
    (shards[0].parent / "SHA256SUMS").write_text("<html>")
    with pytest.raises(ProbeError, match=r"SHA256SUMS: not a manifest.*line 1"):
        find_manifest(shards, None)


def test_one_name_in_two_folders(tmp_path, shards):
    """A list of several quants is read by the folder the shard is in."""
    file = tmp_path / "list.txt"
    file.write_text(sums((C, "Q8/" + NAMES[0]), (A, "Q4/" + NAMES[0]), (B, "Q4/" + NAMES[1])))
    assert [entry.digest for entry in find_manifest(shards, file).expected] == [A, B]


def test_one_name_in_two_other_folders(tmp_path, shards):
    """A shard whose folder is in no line is ambiguous, and the lines are named."""
    file = tmp_path / "list.txt"
    file.write_text(sums((C, "Q8/" + NAMES[0]), (A, "Q5/" + NAMES[0]), (B, NAMES[1])))
    with pytest.raises(UsageError, match=r"lines 1, 2: different hashes for 'm-00001-of-00002.gguf'"):
        find_manifest(shards, file)


def test_download_metadata(tmp_path):
    """The metadata of a download is found without any option."""
    shards = tuple(download(tmp_path, name, digest)[0] for name, digest in zip(NAMES, (A, B), strict=True))
    found = find_manifest(shards, None)
    assert [entry.digest for entry in found.expected] == [A, B]
    assert found.sources == tuple(f"{tmp_path}/.cache/huggingface/download/{name}.metadata" for name in NAMES)


def test_cache_links(tmp_path):
    """A snapshot's link is expected to hold what its blob's name says."""
    link = cached(tmp_path)
    assert [(entry.path, entry.digest) for entry in find_manifest((link,), None).expected] == [(link, A)]


def test_list_and_metadata_agree(tmp_path):
    """Two sources that agree are one, and the metadata adds how to fetch the file again."""
    shard, _ = download(tmp_path, NAMES[0], A)
    (tmp_path / "SHA256SUMS").write_text(sums((A, NAMES[0])))
    (found,) = find_manifest((shard,), None).expected
    assert found.source == "SHA256SUMS, line 1"
    assert found.download[0].startswith("hf download")


def test_list_and_metadata_contradict(tmp_path):
    """Two sources that contradict each other are an error that names both."""
    shard, _ = download(tmp_path, NAMES[0], A)
    (tmp_path / "SHA256SUMS").write_text(sums((B, NAMES[0])))
    with pytest.raises(ProbeError, match=r"SHA256SUMS, line 1 says bbbbbbbbbbbb\.\.\., .*\.metadata says aaaaaaaaaaaa"):
        find_manifest((shard,), None)


def test_nothing_to_be_found(shards):
    """Without any manifest there is none."""
    assert find_manifest(shards, None) is None
