"""Which read-ahead a page fault on a shard makes."""

from __future__ import annotations

from dataclasses import replace

from streamworthy.facts.disk import ReadAhead
from streamworthy.probes.read_ahead import probe_read_ahead
from tests.selftest.criteria.volumes import MOUNT, NVME, VOLUME, facts
from tests.selftest.probes.trees import tree

PARTITION = {"sys/class/block/nvme0n1p2/partition": "2\n"}
DISK = {"sys/block/nvme0n1/queue/read_ahead_kb": "128\n"}


def test_a_partition_has_its_disks_setting(tmp_path):
    """Whole record; udev finds the disk again by its kernel name."""
    (found,) = probe_read_ahead(tree(tmp_path, files=PARTITION | DISK), facts()).devices
    assert found == ReadAhead(
        mount_point="/data",
        device="nvme0n1",
        setting="/sys/block/nvme0n1/queue/read_ahead_kb",
        read_ahead_bytes=128 * 2**10,
        udev_match='KERNEL=="nvme0n1"',
        shards_count=1,
    )


def test_a_mapped_device_has_one_of_its_own(tmp_path):
    """LUKS or LVM: the disk's setting has no say, and udev finds it by its name, which stays."""
    volume = replace(VOLUME, leaves=(replace(NVME, chain=("dm-1", "dm-0", "nvme0n1p2", "nvme0n1")),))
    own = {"sys/block/dm-1/queue/read_ahead_kb": "4096\n", "sys/block/dm-1/dm/name": "vg-home\n"}
    (found,) = probe_read_ahead(tree(tmp_path, files=PARTITION | DISK | own), facts(volume)).devices
    assert (found.device, found.read_ahead_bytes, found.udev_match) == ("dm-1", 2**22, 'ENV{DM_NAME}=="vg-home"')


def test_btrfs_has_one_of_its_own(tmp_path):
    """Beside the filesystem's devices; udev does not set it."""
    volume = replace(VOLUME, mount=replace(MOUNT, fstype="btrfs", major_minor="0:42"))
    own = {
        "sys/fs/btrfs/features/x": "",
        "sys/fs/btrfs/1b-2c/devices/nvme0n1p2/size": "1\n",
        "sys/fs/btrfs/1b-2c/bdi/read_ahead_kb": "4096\n",
    }
    (found,) = probe_read_ahead(tree(tmp_path, files=PARTITION | DISK | own), facts(volume)).devices
    assert (found.setting, found.read_ahead_bytes) == ("/sys/fs/btrfs/1b-2c/bdi/read_ahead_kb", 2**22)
    assert found.udev_match == ""


def test_what_sysfs_does_not_tell_is_unknown_and_no_disk_has_none(tmp_path):
    """A missing or broken setting, and a volume without disks."""
    (missing,) = probe_read_ahead(tree(tmp_path / "a", files=PARTITION), facts()).devices
    broken = tree(tmp_path / "b", files=PARTITION | {"sys/block/nvme0n1/queue/read_ahead_kb": "many\n"})
    assert (missing.read_ahead_bytes, probe_read_ahead(broken, facts()).devices[0].read_ahead_bytes) == (None, None)
    assert probe_read_ahead(tree(tmp_path / "c"), facts(replace(VOLUME, leaves=()))).devices == ()
