"""Room that is asked for and given back, on real filesystems: one with room, one with a quota, one that is full."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from streamworthy.facts.storage import Allocation, Space
from streamworthy.probes.allocation import allocate, probe_allocation
from streamworthy.probes.sysroot import Sysroot
from tests.selftest.criteria.volumes import VOLUME, facts
from tests.selftest.filesystems.mounts import filesystem, mounted, need_root
from tests.selftest.probes.trees import tree

MIB = 2**20
ROOM = Space(total_bytes=2**40, free_bytes=2**39, available_bytes=2**39)


def missing(folder, size_bytes, *, space=ROOM):
    """Give facts of a set of which so much is still to come in a folder."""
    found = facts(replace(VOLUME, space=space), total=VOLUME.shard_bytes + size_bytes)
    return replace(found, folder=str(folder))


@pytest.fixture
def noting():
    """Give this machine's root, with what a capture would keep."""
    root = Sysroot()
    root.noted = []
    root.note = lambda table, answer: root.noted.append((table, answer))
    return root


@pytest.mark.skipif(sys.platform != "linux", reason="O_TMPFILE and fallocate are Linux's")
def test_room_is_asked_for_and_given_back(tmp_path, noting):
    """No file is left, and no byte of room is gone."""
    if error := allocate(str(tmp_path), MIB):
        pytest.skip(f"this filesystem cannot be asked: {os.strerror(error)}")
    found = probe_allocation(noting, missing(tmp_path, MIB))
    assert found == Allocation(folder=str(tmp_path), size_bytes=MIB, error="", not_asked="")
    assert list(tmp_path.iterdir()) == []
    assert noting.noted == [("allocation", {"size_bytes": MIB, "error": "", "not_asked": ""})]


@pytest.mark.parametrize(
    ("size", "space", "reason"),
    [(0, ROOM, "no shard is missing"), (2**39 + 1, ROOM, "statvfs tells no room"), (1, None, "statvfs tells no room")],
)
def test_nothing_is_asked_where_statvfs_decides(tmp_path, noting, size, space, reason):
    """Nor where nothing is missing."""
    found = probe_allocation(noting, missing(tmp_path, size, space=space))
    assert (found.size_bytes, found.error, reason in found.not_asked) == (0, "", True)


def test_a_folder_that_cannot_be_written_to_is_not_asked(tmp_path, noting):
    """Whether it would be given is not known, and that is said."""
    found = probe_allocation(noting, missing(tmp_path / "absent", MIB))
    assert (found.error, "cannot be tried in the model's folder" in found.not_asked) == ("", True)
    assert noting.noted == [("allocation", {"size_bytes": 0, "error": "", "not_asked": found.not_asked})]


def test_memory_is_not_asked_for(tmp_path, noting):
    """A tmpfs would take as many pages of it, for a moment, as shards are missing; a network is another's."""
    found = missing(tmp_path, MIB)
    found = replace(found, volumes=(replace(found.volumes[0], leaves=()),))
    assert probe_allocation(noting, found).not_asked == "no disk of this machine lies below it"


def test_a_set_that_is_wholly_to_come_is_not_asked_for(noting):
    """As where a machine is captured without a model."""
    found = probe_allocation(noting, facts(replace(VOLUME, shards=(), shard_bytes=0), total=5))
    assert found.not_asked == "no shard is there yet"


@pytest.mark.root
def test_a_quota_that_statvfs_hides_is_found(tmp_path, noting):
    """A btrfs subvolume with a limit of 20 MiB on a filesystem of 400: what fits is given, more is not."""
    need_root()
    with filesystem(tmp_path, "btrfs") as (_, point):
        for line in (
            ["btrfs", "quota", "enable", str(point)],
            ["btrfs", "subvolume", "create", str(point / "models")],
            ["btrfs", "qgroup", "limit", "20M", str(point / "models")],
        ):
            subprocess.run(line, check=True, capture_output=True)
        seen = os.statvfs(point / "models")
        assert seen.f_bavail * seen.f_frsize > 200 * MIB
        assert probe_allocation(noting, missing(point / "models", 10 * MIB)).error == ""
        assert probe_allocation(noting, missing(point / "models", 100 * MIB)).error == "EDQUOT"
        assert list((point / "models").iterdir()) == []
    assert noting.noted[-1] == ("allocation", {"size_bytes": 100 * MIB, "error": "EDQUOT", "not_asked": ""})


@pytest.mark.root
def test_a_filesystem_that_does_not_give_what_it_calls_available_is_found(tmp_path):
    """A small tmpfs: no space is an error of its own."""
    need_root()
    with mounted(tmp_path / "small", "mount", "-t", "tmpfs", "-o", "size=8m", "none") as point:
        assert allocate(str(point), 4 * MIB) == 0
        assert allocate(str(point), 16 * MIB) == errno.ENOSPC


def test_a_captured_machine_answers_from_its_file(tmp_path):
    """Or was not asked."""
    root = tree(tmp_path / "a", answers='[allocation]\nsize_bytes = 5\nerror = "EDQUOT"\nnot_asked = ""\n')
    expected = Allocation(folder="/data/glm", size_bytes=5, error="EDQUOT", not_asked="")
    assert probe_allocation(root, facts()) == expected
    found = probe_allocation(tree(tmp_path / "b"), facts())
    assert (found.error, found.not_asked) == ("", "a captured machine cannot be asked")
