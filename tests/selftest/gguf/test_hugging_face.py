"""What a Hugging Face download leaves behind, read as expected hashes."""

import pytest

from streamworthy.facts.integrity import ExpectedHash
from streamworthy.gguf.hugging_face import expect_from_cache, expect_from_metadata

COMMIT, SHA256, SHA1 = "c" * 40, "a" * 64, "b" * 40


def download(folder, name, etag=SHA256, commit=COMMIT):
    """Lay a file as `hf download --local-dir` leaves it."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"content")
    metadata = folder / ".cache" / "huggingface" / "download" / f"{name}.metadata"
    metadata.parent.mkdir(parents=True, exist_ok=True)
    metadata.write_text(f"{commit}\n{etag}\n1764000000.5\n")
    return file, metadata


@pytest.mark.parametrize("name", ["m-00001-of-00002.gguf", "Q4_K_M/m-00001-of-00002.gguf"])
def test_metadata_of_a_local_folder(tmp_path, name):
    """The etag is the expected hash, in a subfolder of the repository too; the command fetches this one file again."""
    file, metadata = download(tmp_path, name)
    assert expect_from_metadata(file) == ExpectedHash(
        path=file,
        algorithm="sha256",
        digest=SHA256,
        source=str(metadata),
        download=(f"hf download OWNER/REPOSITORY {name} --revision {COMMIT} --local-dir {tmp_path} --force-download",),
        revision=COMMIT,
    )


@pytest.mark.parametrize(
    ("etag", "algorithm", "digest"),
    [(SHA1, "git-sha1", SHA1), (f'"{SHA256}"', "sha256", SHA256), (f'W/"{SHA256}"', "sha256", SHA256)],
)
def test_kinds_of_etags(tmp_path, etag, algorithm, digest):
    """40 digits are git's hash of a small file; quotes of the HTTP header do not matter."""
    file, _ = download(tmp_path, "m.gguf", etag)
    expected = expect_from_metadata(file)
    assert (expected.algorithm, expected.digest) == (algorithm, digest)


@pytest.mark.parametrize(
    "text", ["", COMMIT, f"{COMMIT}\n", f"{COMMIT}\n{'a' * 63}\n", f"{COMMIT}\n<html>\n", "\0" * 99]
)
def test_damaged_metadata_says_nothing(tmp_path, text):
    """Metadata that holds no hash is as good as none."""
    file, metadata = download(tmp_path, "m.gguf")
    metadata.write_text(text)
    assert expect_from_metadata(file) is None


def test_no_metadata(tmp_path):
    """A file without metadata has no expected hash."""
    (tmp_path / "m.gguf").write_bytes(b"content")
    assert expect_from_metadata(tmp_path / "m.gguf") is None


def cached(folder, etag=SHA256, name="Q4/m.gguf"):
    """Lay a file as the Hugging Face cache holds it: a relative link to a blob."""
    repository = folder / "models--some--model-GGUF"
    (repository / "blobs").mkdir(parents=True)
    (repository / "blobs" / etag).write_bytes(b"content")
    link = repository / "snapshots" / COMMIT / name
    link.parent.mkdir(parents=True)
    link.symlink_to("../" * (2 + name.count("/")) + f"blobs/{etag}")
    return link


def test_link_of_the_cache(tmp_path):
    """The blob's name is the expected hash; repository and commit stand in the path."""
    link = cached(tmp_path)
    assert expect_from_cache(link) == ExpectedHash(
        path=link,
        algorithm="sha256",
        digest=SHA256,
        source="blobs/aaaaaaaaaaaa...",
        download=(f"hf download some/model-GGUF Q4/m.gguf --revision {COMMIT} --force-download",),
        revision=COMMIT,
    )


def test_other_links_say_nothing(tmp_path):
    """A link to anything but a blob with a hash for a name has no expected hash."""
    link = cached(tmp_path, etag="incomplete-blob")
    plain = tmp_path / "m.gguf"
    plain.symlink_to(link.resolve())
    assert [expect_from_cache(path) for path in (link, plain)] == [None, None]
