"""Mounts: parsing, and which one holds a path."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamworthy.errors import ParseError, ProbeError
from streamworthy.facts.storage import Mount
from streamworthy.probes.mountinfo import (
    is_far,
    mount_of,
    network_kind,
    parse_mountinfo,
    probe_mount_of,
    probe_mounts,
    unescape,
)
from streamworthy.probes.sysroot import Sysroot
from tests.selftest.probes.trees import MACHINES, machine, tree

LINE = r"62 1 259:7 /sub /mnt/my\040models rw,noatime shared:1 master:2 - xfs /dev/nvme1n1p1 rw,attr2,inode64"


def test_a_line_becomes_a_record():
    """Optional tags are skipped and octal escapes undone."""
    assert parse_mountinfo(LINE) == (
        Mount(
            mount_id=62,
            parent_id=1,
            major_minor="259:7",
            root="/sub",
            mount_point="/mnt/my models",
            options=("rw", "noatime"),
            fstype="xfs",
            source="/dev/nvme1n1p1",
            super_options=("rw", "attr2", "inode64"),
            network=None,
        ),
    )


def test_wsl_and_empty_sources_are_read():
    """A Windows path keeps its backslash, and a mount without a source has an empty one."""
    wsl = r"77 60 0:52 / /mnt/c rw,noatime - 9p C:\134 rw,aname=drvfs;path=C:\;uid=1000"
    (mount,) = parse_mountinfo(wsl)
    assert (mount.source, mount.network, mount.super_options[1]) == ("C:\\", "9p", r"aname=drvfs;path=C:\;uid=1000")
    assert parse_mountinfo("1 0 0:1 / /t rw - tmpfs  rw")[0].source == ""


@pytest.mark.parametrize(
    ("found", "put"),
    [(" - xfs", " xfs"), ("62 1", "62"), ("62 ", "x "), ("259:7", "259"), (" /dev/nvme1n1p1 rw,attr2,inode64", "")],
    ids=["no separator", "no parent", "id is no number", "no device number", "no source"],
)
def test_a_line_of_another_shape_is_named(found, put):
    """The message gives file, line, what was found and what was expected."""
    broken = LINE.replace(found, put)
    with pytest.raises(ParseError) as error:
        parse_mountinfo(f"{LINE}\n{broken}\n")
    assert "/proc/self/mountinfo, line 2" in str(error.value)
    assert repr(broken) in str(error.value)


@given(st.text(alphabet=st.sampled_from("ab \t\n\\#/é")))
def test_unescaping_undoes_the_kernel_s_escapes(text):
    """What the kernel escapes comes back as it was."""
    escaped = "".join(f"\\{ord(char):03o}" if char in " \t\n\\#" else char for char in text)
    assert unescape(escaped) == text


MOUNTS = parse_mountinfo(
    "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
    "2 1 8:2 / /mnt/a rw - ext4 /dev/sda2 rw\n"
    "3 2 8:3 / /mnt/a/b rw - ext4 /dev/sda3 rw\n"
    "4 1 8:4 / /mnt/s rw - ext4 /dev/sda4 rw\n"
    "5 4 8:5 / /mnt/s rw - ext4 /dev/sda5 rw\n"
)


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("/x", "8:1"),
        ("/mnt/ab", "8:1"),
        ("/mnt/a", "8:2"),
        ("/mnt/a/x", "8:2"),
        ("/mnt/a/b/c", "8:3"),
        ("/mnt/s/x", "8:5"),
    ],
)
def test_the_longest_prefix_and_the_last_of_a_stack_hold_a_path(path, number):
    """Whole components count: /mnt/ab is not below /mnt/a."""
    assert mount_of(MOUNTS, path).major_minor == number


def test_a_path_that_nothing_holds_is_unknown():
    """In a chroot without a root mount there is no answer, and none is invented."""
    with pytest.raises(ProbeError, match="/elsewhere: no line of /proc/self/mountinfo"):
        mount_of(MOUNTS[1:], "/elsewhere")


@pytest.mark.parametrize(
    "fstype", ["9p", "drvfs", "nfs", "nfs4", "cifs", "smb3", "virtiofs", "ceph", "fuse", "fuse.sshfs", "fakeowner"]
)
def test_remote_and_relayed_filesystems_are_named(fstype):
    """The kind is the type itself."""
    assert network_kind(fstype) == fstype


@pytest.mark.parametrize(
    "fstype", ["ext4", "xfs", "btrfs", "zfs", "fuseblk", "ntfs3", "exfat", "tmpfs", "overlay", "fusectl"]
)
def test_local_filesystems_are_no_network(fstype):
    """A FUSE driver of a local disk (fuseblk) is local."""
    assert network_kind(fstype) is None


def test_every_captured_machine_is_read():
    """Each shipped machine has mounts, one of which is the root, and no number twice."""
    names = sorted(path.name for path in MACHINES.iterdir())
    assert len(names) >= 9
    for name in names:
        mounts = probe_mounts(machine(name))
        assert "/" in {mount.mount_point for mount in mounts}
        assert len({mount.mount_id for mount in mounts}) == len(mounts), name


@pytest.mark.skipif(not os.path.exists("/proc/self/mountinfo"), reason="needs Linux")  # noqa: PTH110
def test_this_machine_s_kernel_and_the_prefix_rule_agree(tmp_path):
    """For a folder that nothing hides both ways lead to the same mount."""
    root = Sysroot()
    mounts = probe_mounts(root)
    path = os.path.realpath(tmp_path)
    assert probe_mount_of(root, mounts, path) == mount_of(mounts, path)


def test_the_kernels_answer_is_taken_from_a_capture(tmp_path):
    """A mount that a later one hides still holds the path, if the kernel said so when it was captured."""
    text = "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n21 20 8:2 / /m rw - ext4 /dev/sda2 rw\n"
    text += "22 20 8:3 / /m rw - xfs /dev/sda3 rw\n"
    root = tree(tmp_path, files={"proc/self/mountinfo": text})
    assert probe_mount_of(root, probe_mounts(root), "/m/a").mount_id == 22
    root.answers = {"mount_of": [{"path": "/m/a", "mount_id": 21}]}
    assert probe_mount_of(root, probe_mounts(root), "/m/a").mount_id == 21
    assert probe_mount_of(root, probe_mounts(root), "/m/b").mount_id == 22


@pytest.mark.parametrize(
    ("named", "far"),
    [
        ("nfs4 10.0.0.5:/data", True),
        ("virtiofs models", True),
        ("wekafs backend/fs1", True),
        ("fuse.sshfs host:/data", True),
        ("fuse.rclone remote:models", True),
        ("fuse mountpoint-s3", True),
        ("fuse quobyte@10.244.4.3:7866|10.244.3.3:7866/cluster", True),
        ("fuse.fusefat /dev/loop0", False),
        ("fuse /dev/fuse", False),
        ("fuseblk /dev/sda1", False),
        ("ext4 /dev/sda1", False),
    ],
)
def test_a_driver_that_fetches_is_told_from_one_that_relays(named, far):
    """Reading hundreds of GB through the first takes a network's time; some name themselves in the source only."""
    (mount,) = parse_mountinfo(f"90 31 0:51 / /srv/models rw - {named} rw\n")
    assert is_far(mount) is far


HIDDEN = """31 1 259:2 / / rw - ext4 /dev/nvme0n1p2 rw
90 31 259:10 / /mnt/models rw - xfs /dev/nvme1n1 rw
91 31 8:16 / /mnt rw - ext4 /dev/sdb rw
"""


@pytest.mark.parametrize(
    ("more", "path", "mount_id"),
    [
        ("", "/mnt/models/a.gguf", 91),
        ("", "/home", 31),
        ("92 91 8:32 / /mnt/models rw - ext4 /dev/sdc rw\n", "/mnt/models/a.gguf", 92),
        ("93 91 0:70 / /mnt/net rw - autofs nas rw\n94 93 0:71 / /mnt/net rw - nfs4 nas:/x rw\n", "/mnt/net/a", 94),
        ("95 700 8:48 / /mnt/models rw - ext4 /dev/sdd rw\n", "/mnt/models/a.gguf", 95),
    ],
)
def test_a_mount_that_a_later_one_covers_holds_nothing(more, path, mount_id):
    """/mnt/models was mounted first, then /mnt upon the same parent; without parents the longest prefix is all."""
    assert mount_of(parse_mountinfo(HIDDEN + more), path).mount_id == mount_id


def test_mounts_in_a_circle_end():
    """No kernel writes them, a file may."""
    text = (
        "1 2 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 8:2 / / rw - ext4 /dev/sda2 rw\n3 9 8:3 / / rw - ext4 /dev/sda3 rw\n"
    )
    assert mount_of(parse_mountinfo(text), "/a").mount_id == 3
