"""The door that remembers: texts, links, folders, refusals and answers of a machine that is asked."""

from __future__ import annotations

import pytest

from streamworthy.capture.recorder import RecordingSysroot
from streamworthy.errors import ProbeError
from tests.selftest.probes.trees import tree

DISK = "sys/devices/pci0000:00/virtio1/block/vda"


@pytest.fixture
def root(tmp_path):
    """Give a small machine: a disk found through two links, a file that is a folder, a folder of one file."""
    files = {
        f"{DISK}/dev": "254:0\n",
        f"{DISK}/size": "8\n",
        "proc/self/limits/odd": "",
        "sys/fs/cgroup/memory.max": "max\n",
    }
    links = {
        "sys/class/block/vda": DISK,
        "sys/dev/block/254:0": DISK,
        f"{DISK}/device": "sys/devices/pci0000:00/virtio1",
    }
    tree(tmp_path, files=files, links=links)
    return RecordingSysroot(tmp_path)


def test_a_text_is_kept_at_its_place_with_each_link_on_the_way(root):
    """What is read through a link is one file and one link, not two files."""
    assert root.read_text("sys/class/block/vda/dev") == "254:0\n"
    assert root.read_optional("sys/dev/block/254:0/size") == "8\n"
    assert root.texts == {f"{DISK}/dev": "254:0\n", f"{DISK}/size": "8\n"}
    assert root.links == {"sys/class/block/vda": DISK, "sys/dev/block/254:0": DISK}


def test_the_first_text_is_kept(root):
    """Facts were made of it; a file such as meminfo says something else each time."""
    root.read_text(f"{DISK}/dev")
    root.path(f"{DISK}/dev").write_text("1:1\n")
    root.read_text(f"{DISK}/dev")
    assert root.texts == {f"{DISK}/dev": "254:0\n"}


def test_what_is_absent_leaves_no_trace(root):
    """Absence is reproduced by absence, and is no refusal."""
    assert root.read_optional("proc/swaps") is None
    with pytest.raises(ProbeError):
        root.read_text("proc/meminfo")
    assert not root.exists("sys/firmware")
    assert root.resolve("sys/dev/block/8:0") is None
    assert root.names("sys/fs/btrfs") == ()
    assert (root.texts, root.links, root.refused) == ({}, {}, {})


def test_a_refusal_is_kept_with_its_reason(root):
    """What cannot be read is not absent."""
    with pytest.raises(ProbeError, match="Is a directory"):
        root.read_optional("proc/self/limits")
    assert root.refused == {"proc/self/limits": "Is a directory"}


def test_a_listing_keeps_links_and_files_that_were_not_read(root):
    """An empty file stands for one that was there; a text that was read stays."""
    root.read_text(f"{DISK}/dev")
    assert root.names("sys/class/block") == ("vda",)
    assert root.names(DISK) == ("dev", "device", "size")
    assert root.texts == {f"{DISK}/dev": "254:0\n", f"{DISK}/size": ""}
    assert root.links == {"sys/class/block/vda": DISK, f"{DISK}/device": "sys/devices/pci0000:00/virtio1"}


def test_seeing_is_kept_without_reading(root):
    """A mark such as /run/.containerenv holds names, and only its being there counts."""
    assert root.exists("sys/fs/cgroup")
    assert root.exists("sys/fs/cgroup/memory.max")
    assert root.resolve("sys/class/block/vda") == DISK
    assert root.texts == {"sys/fs/cgroup/memory.max": ""}
    assert root.folders == {"sys/fs/cgroup", DISK}


def test_a_folder_that_was_seen_keeps_its_files(root):
    """An empty folder would be lost in git, and with it the answer."""
    assert root.exists("sys/fs/cgroup")
    assert root.texts == {"sys/fs/cgroup/memory.max": ""}


def test_a_loop_of_links_ends(tmp_path):
    """A link to itself is no place to follow for ever."""
    tree(tmp_path, links={"sys/a": "sys/b", "sys/b": "sys/a"})
    assert not RecordingSysroot(tmp_path).exists("sys/a")
    RecordingSysroot(tmp_path).place("sys/a")


def test_an_answer_is_kept_once(root):
    """Several probes may ask the same."""
    root.note("statvfs", {"mount": "/"})
    root.note("statvfs", {"mount": "/"})
    root.note("statvfs", {"mount": "/home"})
    assert root.noted == {"statvfs": [{"mount": "/"}, {"mount": "/home"}]}
