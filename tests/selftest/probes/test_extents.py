"""Compressed extents; that real compression is seen stands in test_volumes_mounted.py."""

from __future__ import annotations

from streamworthy.probes.extents import probe_encoded


def test_a_file_that_cannot_be_asked_is_unknown(tmp_path):
    """None is not the same as "not compressed"."""
    assert probe_encoded([str(tmp_path / "absent.gguf")]) is None


def test_no_files_are_none_compressed():
    """An empty volume has no compressed shard."""
    assert probe_encoded([]) == ()
