"""Filesystems of one volume: its own and those beneath."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.criteria.filesystems import judge_filesystem, network_findings
from streamworthy.verdict import Word
from tests.selftest.criteria.volumes import MOUNT, VOLUME, on


def test_every_filesystem_on_the_way_down_is_judged():
    """A loop device's file adds one finding."""
    volume = replace(VOLUME, beneath=(replace(MOUNT, fstype="vfat", mount_point="/boot"),))
    assert [each.word for each in judge_filesystem(volume, ("ext4",), ())] == [Word.PASS, Word.FAIL]
    assert [each.word for each in network_findings(volume)] == [Word.PASS, Word.PASS]


@pytest.mark.parametrize("option", ["compress=no", "compress=none", "nocompress", "space_cache=v2"])
def test_options_that_do_not_compress_are_no_compression(option):
    """Btrfs names compression that is switched off, too."""
    (found,) = judge_filesystem(on("btrfs", super_options=("rw", option)), (), ("btrfs",))
    assert found.word is Word.ADVICE


def test_an_overlay_beneath_an_overlay_is_judged_by_its_layers_too():
    """Containers within containers: only what keeps the bytes decides."""
    inner = replace(MOUNT, fstype="overlay", mount_point="/merged")
    outer = replace(VOLUME, mount=replace(MOUNT, fstype="overlay"))
    for fstype, words in (("ext4", [Word.PASS]), ("ntfs3", [Word.FAIL])):
        volume = replace(outer, beneath=(inner, replace(MOUNT, fstype=fstype, mount_point="/")))
        assert [found.word for found in judge_filesystem(volume, ("ext4",), ())] == words
