"""Swap devices and what lies under them."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamworthy.errors import ParseError, ProbeError
from streamworthy.facts.memory import SwapDevice, SwapFacts
from streamworthy.probes.swap import SwapLine, parse_swappiness, parse_swaps, probe_swap
from tests.selftest.probes.folder import captured, changed

HEAD = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
KIB = 2**10


def leaf_names(found):
    """Name the disks of each device."""
    return [(device.path, device.kind, [leaf.name for leaf in device.leaves]) for device in found.devices]


def test_lines_of_both_types_are_read():
    """Sizes are KiB; blanks in a name are escaped; a removed file is named without its mark."""
    text = HEAD + "/dev/sda2                               partition\t999420\t\t12\t\t-2\n"
    text += "/my\\040swap\\040(deleted) file\t\t8388604\t\t0\t\t5\n"
    assert parse_swaps(text) == (
        SwapLine(path="/dev/sda2", kind="partition", size_bytes=999420 * KIB, used_bytes=12 * KIB, priority=-2),
        SwapLine(path="/my swap", kind="file", size_bytes=8388604 * KIB, used_bytes=0, priority=5),
    )


@pytest.mark.parametrize("text", ["", HEAD])
def test_no_swap_is_an_empty_list(text):
    """A heading alone is no swap."""
    assert parse_swaps(text) == ()


@pytest.mark.parametrize("line", ["/dev/sda2 partition 1 0", "/dev/sda2 device 1 0 -2", "/dev/sda2 file 1k 0 -2", "x"])
def test_a_malformed_line_is_a_parse_error(line):
    """The line is named."""
    with pytest.raises(ParseError, match="swap: /proc/swaps, line 2"):
        parse_swaps(f"{HEAD}{line}\n")


def test_another_heading_is_a_parse_error():
    """A file of another kind is not taken for no swap."""
    with pytest.raises(ParseError, match="swap: /proc/swaps, line 1"):
        parse_swaps("Device Size\n")


@pytest.mark.parametrize(("text", "value"), [("0\n", 0), ("60\n", 60), ("100\n", 100), ("200\n", 200)])
def test_swappiness_goes_to_200(text, value):
    """Since 5.8 up to 200."""
    assert parse_swappiness(text) == value


@pytest.mark.parametrize("text", ["", "201", "-1", "low", "6 0", "1_0"])
def test_a_malformed_swappiness_is_a_parse_error(text):
    """What is no such number names its file."""
    with pytest.raises(ParseError, match="swappiness: /proc/sys/vm/swappiness"):
        parse_swappiness(text)


@pytest.mark.parametrize(
    ("name", "devices"),
    [
        ("laptop-nvme", [("/swap.img", "file", ["nvme0n1"])]),
        ("laptop-luks-lvm", [("/dev/dm-2", "partition", ["nvme0n1"])]),
        ("desktop-sata-hdd", [("/data/swapfile", "file", ["sdb"])]),
        ("wsl2-drvfs", [("/dev/sdb", "partition", ["sdb"])]),
        ("board-aarch64", [("/dev/zram0", "zram", [])]),
        ("server-md-raid", []),
        ("vm-virtio", []),
    ],
)
def test_each_device_is_followed_to_its_disks(name, devices):
    """Partitions by number, files through their mount, LUKS and LVM to the drive; zram has no disk."""
    assert leaf_names(probe_swap(captured(name), model_disks=None)) == devices


def test_the_whole_record_of_a_board_with_zram():
    """Swap in memory is told as such."""
    device = SwapDevice(
        path="/dev/zram0",
        kind="zram",
        size_bytes=16372732 * KIB,
        used_bytes=0,
        priority=5,
        leaves=(),
        leaves_unknown="",
        network=None,
    )
    found = probe_swap(captured("board-aarch64"), model_disks=("259:0",))
    assert found == SwapFacts(devices=(device,), swappiness=100, model_disks=("259:0",), wsl=False)
    assert (found.size_bytes, found.cushion_bytes) == (16372732 * KIB, 0)


@pytest.mark.parametrize("line", ["/dev/sdz9 partition 1 0 -2\n", "/no/such/dm partition 1 0 -2\n"])
def test_a_device_that_sysfs_does_not_know_is_unknown(tmp_path, line):
    """Size and use are told all the same."""
    (device,) = probe_swap(changed(tmp_path, "laptop-nvme", {"proc/swaps": HEAD + line}), model_disks=None).devices
    assert (device.size_bytes, device.leaves) == (KIB, ())
    assert "no such block device" in device.leaves_unknown


def test_a_kernel_without_swap_has_none(tmp_path):
    """Neither file is there."""
    root = changed(tmp_path, "laptop-nvme", {"proc/swaps": None, "proc/sys/vm/swappiness": None})
    assert probe_swap(root, model_disks=None) == SwapFacts(devices=(), swappiness=None, model_disks=None, wsl=False)


def test_a_version_1_group_has_its_own_swappiness(tmp_path):
    """The group's value is what the kernel uses for this process."""
    group = "sys/fs/cgroup/memory/worker/0f3c5a1e9b7d42668c0e1a2b3c4d5e6f/memory.swappiness"
    assert probe_swap(changed(tmp_path, "vm-virtio", {group: "10\n"}), model_disks=None).swappiness == 10


def test_swappiness_without_a_visible_group_is_the_systems(tmp_path):
    """New groups start with it."""
    root = changed(tmp_path, "vm-virtio", {"proc/self/cgroup": "4:memory:/../x\n"})
    assert probe_swap(root, model_disks=None).swappiness == 60


def test_an_unreadable_file_is_a_probe_error(tmp_path):
    """A folder in a file's place stands for any reading error."""
    root = changed(tmp_path, "laptop-nvme", {"proc/swaps": None})
    root.path("proc/swaps").mkdir()
    with pytest.raises(ProbeError, match="/proc/swaps: cannot be read"):
        probe_swap(root, model_disks=None)


@given(st.text() | st.builds((HEAD + "{} file {} 0 {}\n").format, st.text(), st.text(), st.text()))
def test_any_text_is_swap_or_a_parse_error(text):
    """No text makes a parser raise anything else."""
    for parse in (parse_swaps, parse_swappiness):
        with contextlib.suppress(ParseError):
            parse(text)


def test_lxcfs_shows_the_hosts_swap_without_a_disk(tmp_path):
    """In an LXC container /proc/swaps is LXCFS's: one line of type virtual, whose disk is unknown."""
    text = "Filename\t\t\t\tType\t\tSize\tUsed\tPriority\n"
    text += "none                                    virtual\t\t524288\t128\t0\n"
    (device,) = probe_swap(changed(tmp_path, "laptop-nvme", {"proc/swaps": text}), model_disks=None).devices
    assert (device.path, device.kind, device.size_bytes, device.used_bytes) == ("none", "virtual", 2**29, 128 * KIB)
    assert device.leaves == ()
    assert "LXCFS" in device.leaves_unknown


def test_a_file_on_a_network_is_known_to_be_there(tmp_path):
    """No disk of this machine has it, and that is known."""
    mounts = captured("laptop-nvme").read_text("proc/self/mountinfo") + "95 31 0:77 / /net rw - nfs4 10.0.0.5:/x rw\n"
    files = {"proc/swaps": HEAD + "/net/swap\\040file file 8388604 0 -2\n", "proc/self/mountinfo": mounts}
    (device,) = probe_swap(changed(tmp_path, "laptop-nvme", files), model_disks=None).devices
    assert (device.path, device.network, device.leaves, device.leaves_unknown) == ("/net/swap file", "nfs4", (), "")
