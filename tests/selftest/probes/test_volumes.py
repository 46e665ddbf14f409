"""Where a model lies, resolved on captured machines."""

from __future__ import annotations

import pytest

from streamworthy.errors import ProbeError, UsageError
from streamworthy.facts.storage import Placement, Space, Volume, VolumesFacts
from streamworthy.probes.block import leaves_of
from streamworthy.probes.mountinfo import mount_of, probe_mounts
from streamworthy.probes.sysroot import Sysroot
from streamworthy.probes.volumes import probe_captured_model, probe_volumes
from tests.selftest.probes.trees import MACHINES, disk, machine, numbered, tree

SDA = "sys/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda"
SDB = "sys/devices/pci0000:00/0000:00:17.0/ata2/host1/target1:0:0/1:0:0:0/block/sdb"


def judged(root):
    """Probe a captured machine's own model."""
    placements, folder, total = probe_captured_model(root)
    return probe_volumes(root, placements, folder=folder, set_total_bytes=total)


def shard(path, *, size_bytes=100, real_path=None):
    """Give a placement."""
    return Placement(path=path, real_path=real_path or path, size_bytes=size_bytes, allocated_bytes=size_bytes + 12)


def two_disks(folder, mountinfo, **files):
    """Capture a machine with two SATA disks."""
    texts = {"proc/self/mountinfo": mountinfo} | files | disk(SDA, "8:0") | disk(SDB, "8:16")
    return tree(folder, files=texts, links=numbered((SDA, "8:0"), (SDB, "8:16")))


def names(volume):
    """Name a volume's disks."""
    return [leaf.name for leaf in volume.leaves]


def test_a_volume_is_read_whole():
    """Mount, disks, space and what is placed, of the machine whose model lies on LVM on LUKS."""
    root = machine("laptop-luks-lvm")
    placements, _, _ = probe_captured_model(root)
    assert judged(root) == VolumesFacts(
        volumes=(
            Volume(
                mount=mount_of(probe_mounts(root), "/home"),
                beneath=(),
                leaves=leaves_of(root, "254:3"),
                leaves_unknown=None,
                space=Space(
                    total_bytes=1869999996928,
                    free_bytes=1289999998976,
                    available_bytes=1196500000768,
                ),
                shards=tuple(each.real_path for each in placements),
                shard_bytes=390_000_000_000,
                allocated_bytes=sum(each.allocated_bytes for each in placements),
                encoded_shards=None,
            ),
        ),
        home="/home",
        folder="/home/linus/models",
        set_total_bytes=390_000_000_000,
    )


@pytest.mark.parametrize(
    ("name", "fstype", "network", "disks"),
    [
        ("vm-virtio", "ext4", None, ["vda"]),
        ("laptop-nvme", "ext4", None, ["nvme0n1"]),
        ("wsl2-drvfs", "9p", "9p", []),
        ("laptop-luks-lvm", "ext4", None, ["nvme0n1"]),
        ("desktop-sata-hdd", "ext4", None, ["sdb"]),
        ("usb-enclosure", "exfat", None, ["sda"]),
        ("server-md-raid", "xfs", None, ["nvme0n1", "nvme1n1", "nvme2n1", "nvme3n1"]),
        ("container-memory-limit", "ext4", None, ["nvme1n1"]),
        ("board-aarch64", "ext4", None, ["nvme0n1"]),
    ],
)
def test_each_captured_machine_s_model_is_found(name, fstype, network, disks):
    """One volume each, with its space known."""
    (volume,) = judged(machine(name)).volumes
    assert (volume.mount.fstype, volume.mount.network, names(volume)) == (fstype, network, disks)
    assert volume.space is not None
    assert volume.leaves_unknown is None


def test_every_shipped_machine_is_tried():
    """No machine is shipped that the list above forgets."""
    assert len(list(MACHINES.iterdir())) >= 9


TWO = "1 0 8:0 / / rw - ext4 /dev/sda rw\n2 1 8:16 / /big rw - ext4 /dev/sdb rw\n"


def test_links_to_another_volume_are_followed(tmp_path):
    """The real path counts, and each volume knows its own share."""
    placements = (shard("/m/a"), shard("/m/b", real_path="/big/b", size_bytes=40))
    facts = probe_volumes(two_disks(tmp_path, TWO), placements, folder="/m", set_total_bytes=140)
    found = [(each.mount.mount_point, names(each), each.shard_bytes, each.allocated_bytes) for each in facts.volumes]
    assert found == [("/", ["sda"], 100, 112), ("/big", ["sdb"], 40, 52)]


@pytest.mark.parametrize(("total", "points"), [(100, ["/big"]), (101, ["/big", "/"]), (None, ["/big"])])
def test_the_folder_s_volume_counts_while_shards_are_missing(tmp_path, total, points):
    """Missing shards will be put into the folder; a complete set asks nothing of it."""
    root = two_disks(tmp_path, TWO)
    facts = probe_volumes(root, (shard("/m/a", real_path="/big/a"),), folder="/m", set_total_bytes=total)
    assert [each.mount.mount_point for each in facts.volumes] == points
    assert facts.home == "/"


def test_a_model_that_is_not_there_yet_has_its_folder_s_volume(tmp_path):
    """Nothing placed, all known: the machine can be judged before the download."""
    facts = probe_volumes(two_disks(tmp_path, TWO), (), folder="/big/m", set_total_bytes=None)
    assert [(each.mount.mount_point, each.shards, each.shard_bytes) for each in facts.volumes] == [("/big", (), 0)]


def test_all_disks_of_a_btrfs_are_found(tmp_path):
    """Its number is anonymous and its source names one of its disks; sysfs names them all."""
    members = {f"sys/fs/btrfs/0b7e/devices/{name}/x": "" for name in ("sda", "sdb")}
    root = two_disks(tmp_path, "1 0 0:33 /@home / rw - btrfs /dev/sda rw,subvol=/@home\n", **members)
    (volume,) = probe_volumes(root, (shard("/a"),), folder="/", set_total_bytes=None).volumes
    assert names(volume) == ["sda", "sdb"]


def test_a_btrfs_that_sysfs_does_not_list_has_its_source(tmp_path):
    """Kernels without /sys/fs/btrfs still name the source; findmnt's brackets are cut off."""
    root = two_disks(tmp_path, "1 0 0:33 /@home / rw - btrfs /dev/sdb[/@home] rw\n")
    (volume,) = probe_volumes(root, (shard("/a"),), folder="/", set_total_bytes=None).volumes
    assert names(volume) == ["sdb"]


OVERLAY = "3 1 0:40 / /merged rw - overlay overlay rw,lowerdir=/l1:/l2,upperdir=/big/upper,workdir=/big/work\n"


@pytest.mark.parametrize(
    ("found", "put", "disks"),
    [("", "", ["sdb"]), ("upperdir=/big/upper", "lowerdir+=/l3", ["sda"])],
    ids=["upper layer", "read-only"],
)
def test_overlay_lies_where_its_top_layer_lies(tmp_path, found, put, disks):
    """The writable layer takes the shards; without one the topmost lower layer holds them."""
    root = two_disks(tmp_path, TWO + OVERLAY.replace(found, put))
    (volume,) = probe_volumes(root, (shard("/merged/a"),), folder="/merged", set_total_bytes=None).volumes
    assert (names(volume), volume.mount.fstype) == (disks, "overlay")
    assert [mount.fstype for mount in volume.beneath] == ["ext4"]


@pytest.mark.parametrize(
    ("mountinfo", "reason"),
    [
        ("1 0 0:9 / / rw - overlay overlay rw,lowerdir=/a,upperdir=/b\n", "layers lie outside of this container"),
        ("1 0 0:9 / / rw - zfs tank/models rw,xattr,noacl\n", "zfs names no block device .source tank/models."),
        ("1 0 8:99 / / rw - ext4 /dev/root rw\n", "/sys/dev/block/8:99 does not exist"),
        ("1 0 0:33 / / rw - btrfs /dev/mapper/gone rw\n", "/dev/mapper/gone: no such block device"),
    ],
)
def test_disks_that_cannot_be_found_are_unknown_with_a_reason(tmp_path, mountinfo, reason):
    """The volume's other facts stay."""
    root = two_disks(tmp_path, mountinfo)
    (volume,) = probe_volumes(root, (shard("/a"),), folder="/", set_total_bytes=None).volumes
    assert volume.leaves == ()
    with pytest.raises(ProbeError, match=reason):
        raise ProbeError(volume.leaves_unknown)
    assert volume.shard_bytes == 100


def test_memory_and_network_have_no_disks_and_that_is_known(tmp_path):
    """No unknown is made of what has no disk."""
    mounts = "1 0 0:9 / / rw - tmpfs none rw\n2 1 0:8 / /n rw - nfs4 server:/x rw\n"
    facts = probe_volumes(two_disks(tmp_path, mounts), (shard("/a"), shard("/n/b")), folder="/", set_total_bytes=None)
    assert [(each.leaves, each.leaves_unknown) for each in facts.volumes] == [((), None), ((), None)]


@pytest.mark.parametrize(("fstype", "source"), [("tmpfs", "none"), ("nfs4", "server:/x"), ("fuse.bindfs", "/source")])
def test_a_loop_device_s_file_that_lies_on_no_disk_is_known_too(tmp_path, fstype, source):
    """The image's own filesystem is sound, what keeps its file is not: it stands in ``beneath``."""
    loop = "sys/devices/virtual/block/loop0"
    mounts = f"1 0 0:50 / /far rw - {fstype} {source} rw\n2 0 7:0 / /models rw - ext4 /dev/loop0 rw\n"
    files = disk(loop, "7:0", loop__backing_file="/far/image") | {"proc/self/mountinfo": mounts}
    root = tree(tmp_path, files=files, links=numbered((loop, "7:0")))
    (volume,) = probe_volumes(root, (shard("/models/a.gguf"),), folder="/models", set_total_bytes=None).volumes
    assert (volume.leaves, volume.leaves_unknown) == ((), None)
    assert [mount.fstype for mount in volume.beneath] == [fstype]


def test_space_that_was_not_captured_is_none(tmp_path):
    """Absent is None, never 0."""
    (volume,) = probe_volumes(two_disks(tmp_path, TWO), (shard("/a"),), folder="/", set_total_bytes=None).volumes
    assert volume.space is None


@pytest.mark.skipif(not Sysroot().exists("proc/self/mountinfo"), reason="needs Linux")
def test_statvfs_that_fails_leaves_space_unknown(tmp_path):
    """A volume that does not answer is unknown, and the others are still judged."""

    def refuse(path):
        raise OSError(5, "Input/output error", path)

    real = str(tmp_path.resolve())
    (volume,) = probe_volumes(Sysroot(), (), folder=real, set_total_bytes=None, statvfs=refuse).volumes
    assert volume.space is None


def test_a_machine_without_a_model_is_a_mistake_of_the_user(tmp_path):
    """The message names the file and the key."""
    with pytest.raises(UsageError, match=r"machine\.toml: \[model\]: found nothing, expected a table"):
        probe_captured_model(tree(tmp_path))


def test_a_captured_shard_may_lie_elsewhere(tmp_path):
    """``real_path`` keeps where a link led."""
    answers = (
        '[model]\npath = "/m"\nshards = [{name = "a", real_path = "/big/a", size_bytes = 5, allocated_bytes = 8}]\n'
    )
    assert probe_captured_model(tree(tmp_path, answers=answers)) == (
        (Placement(path="/m/a", real_path="/big/a", size_bytes=5, allocated_bytes=8),),
        "/m",
        None,
    )


def test_which_shards_are_compressed_is_answered_by_the_capture(tmp_path):
    """FIEMAP was asked when the machine was captured: none is an answer, no answer leaves the mount options."""
    mountinfo = "20 1 0:32 / / rw - btrfs /dev/sda rw,compress=zstd:1,subvol=/\n"
    root = two_disks(tmp_path, mountinfo)
    for answers, found in (({}, None), ({"encoded": [{"mount": "/", "shards": ["/m/a"]}]}, ("/m/a",))):
        root.answers = answers
        facts = probe_volumes(root, (shard("/m/a"),), folder="/m", set_total_bytes=100)
        assert facts.volumes[0].encoded_shards == found


def test_which_layer_holds_a_shard_is_answered_by_the_capture(tmp_path):
    """The lower layer has it, and lies on the other disk."""
    lines = ("20 1 8:0 / / rw - ext4 /dev/sda rw", "21 20 8:16 / /low rw - ext4 /dev/sdb rw")
    overlay = "22 20 0:50 / /merged rw - overlay overlay rw,lowerdir=/low/l,upperdir=/up,workdir=/work"
    root = two_disks(tmp_path, "\n".join((*lines, overlay)))
    for answers, found in (({}, ["sda"]), ({"layer": [{"path": "/merged/a", "folder": "/low/l"}]}, ["sdb"])):
        root.answers = answers
        (volume,) = probe_volumes(root, (shard("/merged/a"),), folder="/merged", set_total_bytes=100).volumes
        assert names(volume) == found
