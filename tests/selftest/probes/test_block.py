"""From a device number to the disks below it."""

from __future__ import annotations

import pytest

from streamworthy.errors import ParseError, ProbeError
from streamworthy.facts.storage import BlockLeaf
from streamworthy.probes.block import leaves_of
from tests.selftest.probes.trees import disk, machine, numbered, tree

SDA = "sys/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda"
NVME = "sys/devices/pci0000:00/0000:00:06.0/0000:02:00.0/nvme/nvme0/nvme0n1"
VIRTUAL = "sys/devices/virtual/block"


def chains(root, number):
    """Give each leaf's transport and chain."""
    return [(leaf.transport, leaf.chain) for leaf in leaves_of(root, number)]


def test_a_leaf_is_read_whole():
    """LUKS on a partition below LVM: the flags are those of the drive, the chain names all that was passed."""
    assert leaves_of(machine("laptop-luks-lvm"), "254:3") == (
        BlockLeaf(
            name="nvme0n1",
            major_minor="259:0",
            transport="nvme",
            rotational=False,
            flags_are_evidence=True,
            model="WD_BLACK SN850X 2000GB",
            size_bytes=3907029168 * 512,
            read_ahead_bytes=128 * 2**10,
            chain=("dm-3", "dm-0", "nvme0n1p3", "nvme0n1"),
        ),
    )


def test_a_virtio_disk_survives_its_missing_attributes():
    """Such a disk has no model, and its flag says spinning on flash."""
    assert leaves_of(machine("vm-virtio"), "254:0") == (
        BlockLeaf(
            name="vda",
            major_minor="254:0",
            transport="virtio",
            rotational=True,
            flags_are_evidence=False,
            model=None,
            size_bytes=274877906944,
            read_ahead_bytes=8 * 2**20,
            chain=("vda",),
        ),
    )


@pytest.mark.parametrize(
    ("name", "number", "found"),
    [
        ("laptop-nvme", "259:2", [("nvme", ("nvme0n1p2", "nvme0n1"))]),
        ("laptop-nvme", "7:0", [("nvme", ("loop0", "nvme0n1p2", "nvme0n1"))]),
        ("wsl2-drvfs", "8:32", [("hyperv", ("sdc",))]),
        ("desktop-sata-hdd", "8:17", [("sata", ("sdb1", "sdb"))]),
        ("usb-enclosure", "8:1", [("usb", ("sda1", "sda"))]),
        ("server-md-raid", "9:0", [("nvme", ("md0", f"nvme{n}n1")) for n in range(4)]),
        ("server-md-raid", "253:0", [("raid", ("dm-0", "sda3", "sda"))]),
        ("container-memory-limit", "259:4", [("nvme", ("nvme1n1p1", "nvme1n1"))]),
        ("board-aarch64", "179:2", [("emmc", ("mmcblk0p2", "mmcblk0"))]),
        ("board-aarch64", "254:0", [("ram", ("zram0",))]),
    ],
)
def test_captured_machines_resolve_to_their_disks(name, number, found):
    """Each stack of the shipped machines ends at whole disks."""
    assert chains(machine(name), number) == found


def test_bcache_has_both_its_leaves(tmp_path):
    """The cached disk and the cache are both below it, so the slow one is seen."""
    cache = f"{VIRTUAL}/bcache0"
    files = (
        disk(cache, "252:0")
        | disk(SDA, "8:0", queue__rotational=1)
        | disk(NVME, "259:0", queue__rotational=0)
        | disk(f"{NVME}/nvme0n1p1", "259:1", partition=1)
    )
    links = numbered((cache, "252:0"), (SDA, "8:0"), (NVME, "259:0"))
    links |= {f"{cache}/slaves/sda": SDA, f"{cache}/slaves/nvme0n1p1": f"{NVME}/nvme0n1p1"}
    assert chains(tree(tmp_path, files=files, links=links), "252:0") == [
        ("nvme", ("bcache0", "nvme0n1p1", "nvme0n1")),
        ("sata", ("bcache0", "sda")),
    ]


def test_a_disk_reached_twice_is_one_leaf(tmp_path):
    """Two partitions of one disk in one volume group are no second disk."""
    top = f"{VIRTUAL}/dm-0"
    files = disk(top, "253:0") | disk(SDA, "8:0")
    for part in (1, 2):
        files |= disk(f"{SDA}/sda{part}", f"8:{part}", partition=part)
    links = numbered((top, "253:0"), (SDA, "8:0")) | {f"{top}/slaves/sda{part}": f"{SDA}/sda{part}" for part in (1, 2)}
    assert chains(tree(tmp_path, files=files, links=links), "253:0") == [("sata", ("dm-0", "sda1", "sda"))]


@pytest.mark.parametrize(
    ("fstype", "number", "source", "message"),
    [
        ("nfs4", "0:50", "server:/x", "device 7:0: its file lies on nfs4 at /: no disk"),
        ("ext4", "8:9", "/dev/sda9", "8:9 does not exist"),
    ],
)
def test_a_loop_device_whose_file_leads_to_no_disk_is_unknown(tmp_path, fstype, number, source, message):
    """The file's own filesystem has to end at a disk of this machine."""
    loop = f"{VIRTUAL}/loop0"
    files = disk(loop, "7:0", loop__backing_file="/img") | {
        "proc/self/mountinfo": f"1 0 {number} / / rw - {fstype} {source} rw\n"
    }
    with pytest.raises(ProbeError, match=message):
        leaves_of(tree(tmp_path, files=files, links=numbered((loop, "7:0"))), "7:0")


def test_a_stack_on_itself_is_an_error(tmp_path):
    """A broken capture does not hang the probe."""
    one, two = f"{VIRTUAL}/dm-0", f"{VIRTUAL}/dm-1"
    links = numbered((one, "253:0"), (two, "253:1")) | {f"{one}/slaves/dm-1": two, f"{two}/slaves/dm-0": one}
    root = tree(tmp_path, files=disk(one, "253:0") | disk(two, "253:1"), links=links)
    with pytest.raises(ProbeError, match="dm-0 -> dm-1 -> dm-0"):
        leaves_of(root, "253:0")


def test_an_unknown_number_is_an_error():
    """Nothing is guessed from a number that sysfs does not know."""
    with pytest.raises(ProbeError, match="/sys/dev/block/99:9 does not exist"):
        leaves_of(machine("laptop-nvme"), "99:9")


def test_an_attribute_that_is_no_number_is_named(tmp_path):
    """The message names the file and what it holds."""
    root = tree(tmp_path, files=disk(SDA, "8:0", queue__rotational="maybe"), links=numbered((SDA, "8:0")))
    with pytest.raises(ParseError, match="sda/queue/rotational, line 1: found 'maybe', expected a whole number"):
        leaves_of(root, "8:0")


@pytest.mark.parametrize(
    ("level", "flash", "spinning", "read"),
    [
        ("raid1", "in_sync", "in_sync,write_mostly", ["nvme"]),
        ("raid1", "in_sync", "in_sync,writemostly", ["nvme"]),
        ("raid1", "faulty", "in_sync,write_mostly", ["sata"]),
        ("raid10", "in_sync", "in_sync,write_mostly", ["nvme", "sata"]),
        ("raid5", "in_sync", "spare", ["nvme"]),
        ("raid5", "in_sync", "journal,in_sync", ["nvme"]),
        ("raid1", "in_sync", "in_sync", ["nvme", "sata"]),
        ("raid1", "faulty", "faulty", ["nvme", "sata"]),
        ("raid0", "in_sync", None, ["nvme", "sata"]),
    ],
)
def test_of_an_array_the_members_count_that_are_read(tmp_path, level, flash, spinning, read):
    """A mirror of flash and a disk is read from flash where the disk is write-mostly (md.rst); spares are not read."""
    array = f"{VIRTUAL}/md0"
    files = disk(array, "9:0") | disk(NVME, "259:0", queue__rotational=0) | disk(SDA, "8:0", queue__rotational=1)
    files |= {f"{array}/md/level": f"{level}\n", f"{array}/md/dev-nvme0n1/state": f"{flash}\n"}
    files |= {f"{array}/md/dev-sda/state": f"{spinning}\n"} if spinning else {}
    links = numbered((array, "9:0"), (NVME, "259:0"), (SDA, "8:0"))
    links |= {f"{array}/slaves/nvme0n1": NVME, f"{array}/slaves/sda": SDA}
    found = [transport for transport, _ in chains(tree(tmp_path, files=files, links=links), "9:0")]
    assert found == read
