"""Numbers of block devices, by name and of filesystems that span several."""

from __future__ import annotations

import pytest

from streamworthy.errors import ProbeError
from streamworthy.probes.device_numbers import device_of_name, devices_of_mount
from streamworthy.probes.mountinfo import parse_mountinfo
from tests.selftest.probes.trees import disk, machine, numbered, tree

NVME = "sys/devices/pci0000:00/0000:00:06.0/0000:02:00.0/nvme/nvme0/nvme0n1"
SDB = "sys/devices/pci0000:00/0000:00:17.0/ata2/host1/target1:0:0/1:0:0:0/block/sdb"


@pytest.mark.parametrize(
    ("machine_name", "name", "number"),
    [
        ("desktop-sata-hdd", "sda2", "8:2"),
        ("desktop-sata-hdd", "/dev/sdb1", "8:17"),
        ("laptop-luks-lvm", "/dev/mapper/tux--vg-home", "254:3"),
        ("laptop-luks-lvm", "/dev/tux-vg/home", "254:3"),
        ("laptop-luks-lvm", "/dev/mapper/nvme0n1p3_crypt", "254:0"),
        ("laptop-luks-lvm", "dm-2", "254:2"),
    ],
)
def test_names_become_numbers(machine_name, name, number):
    """Mapper names are looked up in dm/name, for sysfs has no folder of that name."""
    assert device_of_name(machine(machine_name), name) == number


def test_a_name_with_a_slash_is_found(tmp_path):
    """Sysfs writes the slash as an exclamation mark."""
    path = "sys/devices/pci0000:00/cciss0/c0d0/block/cciss!c0d0"
    root = tree(tmp_path, files=disk(path, "104:0"), links=numbered((path, "104:0")))
    assert device_of_name(root, "/dev/cciss/c0d0") == "104:0"


def test_an_unknown_name_is_an_error():
    """The name is repeated."""
    with pytest.raises(ProbeError, match="/dev/mapper/gone: no such block device"):
        device_of_name(machine("laptop-luks-lvm"), "/dev/mapper/gone")


def test_udevs_links_are_followed_inside_a_capture(tmp_path):
    """/dev/disk/by-id/... leads to the kernel's name; without the link nothing is guessed."""
    path = "sys/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda"
    files = disk(path, "8:0") | {"dev/sda": ""}
    root = tree(tmp_path, files=files, links=numbered((path, "8:0")) | {"dev/disk/by-id/disk1": "dev/sda"})
    assert device_of_name(root, "/dev/disk/by-id/disk1") == "8:0"
    with pytest.raises(ProbeError):
        device_of_name(root, "/dev/disk/by-id/disk2")


def two(folder, *, links=None):
    """Give a machine with an NVMe drive and a SATA disk."""
    files = disk(NVME, "259:0") | disk(SDB, "8:16")
    return tree(folder, files=files, links=numbered((NVME, "259:0"), (SDB, "8:16")) | (links or {}))


def numbers(root, line):
    """Give the devices of one mount."""
    (mount,) = parse_mountinfo(line)
    return devices_of_mount(root, mount)


def test_a_bcachefs_names_all_its_devices_in_one_source(tmp_path):
    """util-linux#4340: the source holds every member, with colons between."""
    line = "90 31 0:44 / /srv/models rw,relatime - bcachefs /dev/nvme0n1:/dev/sdb rw,foreground_target=ssd\n"
    assert numbers(two(tmp_path), line) == ("259:0", "8:16")
    with pytest.raises(ProbeError, match="/dev/gone: no such block device"):
        numbers(two(tmp_path / "less"), line.replace("/dev/sdb", "/dev/gone"))


def test_a_bcachefs_that_shows_its_uuid_is_found_below_sysfs(tmp_path):
    """bcachefs-tools#658; a member that sysfs does not lead to is an error, not one disk less."""
    line = "90 31 0:44 / /srv/models rw - bcachefs /dev/disk/by-uuid/acfd231c rw\n"
    links = {f"sys/fs/bcachefs/acfd231c/dev-{index}/block": path for index, path in enumerate((NVME, SDB))}
    root = two(tmp_path / "two", links=links)
    assert numbers(root, line) == ("259:0", "8:16")
    (root.root / "sys/fs/bcachefs/acfd231c/dev-2").mkdir()
    with pytest.raises(ProbeError, match="does not name its devices"):
        numbers(root, line)
    with pytest.raises(ProbeError, match="does not name its devices"):
        numbers(two(tmp_path / "none"), line)


ROOT = "31 1 0:20 /@ / rw,relatime - btrfs /dev/root rw,ssd,subvolid=256,subvol=/@\n"


def test_a_btrfs_root_that_was_mounted_without_an_initramfs_is_the_only_btrfs(tmp_path):
    """systemd#16953, btrfs/linux#1132: /dev/root is a name that the kernel used while it started, and no device."""
    links = {f"sys/fs/btrfs/0b7e/devices/{name}": path for name, path in (("nvme0n1", NVME), ("sdb", SDB))}
    assert numbers(two(tmp_path, links=links), ROOT) == ("259:0", "8:16")


def test_which_of_two_btrfs_is_the_root_is_not_guessed(tmp_path):
    """The name that would tell is not there."""
    links = {"sys/fs/btrfs/0b7e/devices/nvme0n1": NVME, "sys/fs/btrfs/9c31/devices/sdb": SDB}
    with pytest.raises(ProbeError, match="/dev/root: no such block device"):
        numbers(two(tmp_path, links=links), ROOT)


@pytest.mark.parametrize(
    "line",
    [
        "60 1 0:50 / /tank rw - zfs tank/models rw,xattr\n",
        "24 1 0:6 / /dev rw - devtmpfs /dev/x rw\n",
        "61 1 0:51 / /home/ada rw - ecryptfs /home/.ecryptfs/ada/.Private rw\n",
    ],
)
def test_a_mount_without_a_device_has_none(tmp_path, line):
    """An anonymous number and a source that is no device say nothing."""
    assert numbers(two(tmp_path), line) == ()
