"""What is proposed in the place of a path that leads to no model."""

import os

import pytest

from streamworthy.errors import UsageError
from streamworthy.gguf.shards import list_shards

FETCH = "download it first: hf download o/r --include"


@pytest.mark.parametrize(
    ("given", "fix"),
    [
        ("https://huggingface.co/o/r", f"{FETCH} '*.gguf' --local-dir FOLDER"),
        (
            "https://huggingface.co/o/r/resolve/main/Q4/m-00001-of-00003.gguf?download=true",
            f"{FETCH} 'Q4/m-*-of-00003.gguf'",
        ),
        ("https://hf-mirror.com/o/r/blob/main/m.gguf", f"{FETCH} m.gguf"),
        ("hf://o/r", f"{FETCH} '*.gguf'"),
        ("s3://bucket/m.gguf", "download it first: every shard into one folder"),
        ("https://example.com/m.gguf", "download it first: every shard into one folder"),
        ("file:///srv/m.gguf", "--model /srv/m.gguf"),
        ("~/m.gguf", '--model "$HOME/m.gguf"'),
        ("o/r:Q4_K_M", "hf download o/r --include '*Q4_K_M*.gguf'"),
        ("o/r", "hf download o/r --include '*.gguf'"),
    ],
)
def test_what_is_no_path_is_told_how_to_become_one(tmp_path, monkeypatch, given, fix):
    """An address, a repository, and a home that no shell put in its place."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="not found") as caught:
        list_shards(type(tmp_path)(given))
    assert fix in caught.value.fix


def test_models_under_other_names_are_found_by_their_first_bytes(tmp_path):
    """A blob, a file without its ending; a pipe and a link that leads nowhere are not waited for."""
    (tmp_path / "model.bak").write_bytes(b"GGUF")
    (tmp_path / "notes.txt").write_bytes(b"GG")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "lost").symlink_to("nowhere")
    with pytest.raises(UsageError) as caught:
        list_shards(tmp_path)
    assert caught.value.fix.endswith("with .gguf at the end: model.bak")


def test_a_folder_of_blobs_is_told_of_its_snapshot(tmp_path):
    """Their names are the links'."""
    blobs = tmp_path / "blobs"
    blobs.mkdir()
    (blobs / ("a" * 64)).write_bytes(b"GGUF")
    with pytest.raises(UsageError) as caught:
        list_shards(blobs)
    assert "snapshots/" in caught.value.fix
