"""What PCIe links carry."""

from __future__ import annotations

import os
import sys
import threading
import time
from dataclasses import replace

import pytest

from streamworthy.facts.drives import DriveLink, LinkFacts, PcieLink
from streamworthy.probes.link import parse_link, probe_link, probe_links
from streamworthy.probes.machine import Machine
from tests.selftest.criteria.volumes import NVME, VOLUME, facts, leaf
from tests.selftest.probes.folder import captured
from tests.selftest.probes.trees import tree

PORT = "sys/devices/pci0000:00/0000:00:06.0"
DRIVE = f"{PORT}/0000:02:00.0"
DISK = f"{DRIVE}/nvme/nvme0/nvme0n1"


@pytest.mark.parametrize(
    ("speed", "width", "gigabytes"),
    [
        ("2.5 GT/s PCIe\n", "1\n", 0.25),
        ("5.0 GT/s PCIe\n", "4\n", 2.0),
        ("8.0 GT/s PCIe\n", "4\n", 3.938),
        ("16.0 GT/s PCIe\n", "4\n", 7.877),
        ("32.0 GT/s PCIe", "4", 15.754),
        ("8 GT/s\n", "2\n", 1.969),
        ("5.0 GT/s PCIe\n", "4\x1c", 2.0),
    ],
)
def test_a_link_is_lanes_times_speed_less_its_code(speed, width, gigabytes):
    """Each generation as its specification has it; kernels before 5.7 wrote no "PCIe"."""
    assert parse_link(speed, width).bytes_per_second == pytest.approx(gigabytes * 1e9, rel=1e-3)


@pytest.mark.parametrize(("speed", "width"), [("Unknown\n", "4"), ("8.0 GT/s", "0"), (None, "4"), ("8.0 GT/s", None)])
def test_a_link_that_is_not_told_is_unknown(speed, width):
    """A sleeping link has width 0."""
    assert parse_link(speed, width) is None


def machine(folder, *, port="16.0 GT/s PCIe"):
    """Make a drive of PCIe 3.0 x4 below a port."""
    link = {"current_link_speed": "8.0 GT/s PCIe\n", "current_link_width": "4\n"}
    files = {f"{DRIVE}/{name}": text for name, text in link.items()}
    files |= {f"{PORT}/current_link_speed": f"{port}\n", f"{PORT}/current_link_width": "4\n", f"{DISK}/dev": "259:0\n"}
    return tree(folder, files=files, links={"sys/class/block/nvme0n1": DISK})


def test_the_narrowest_link_on_the_way_counts(tmp_path):
    """The drive's own, or the port it hangs on."""
    assert probe_link(machine(tmp_path / "a"), [NVME]) == pytest.approx(3.938e9, rel=1e-3)
    assert probe_link(machine(tmp_path / "b", port="5.0 GT/s PCIe"), [NVME]) == pytest.approx(2e9)


@pytest.mark.parametrize(
    "leaves",
    [[], [replace(NVME, name="nvme9n1")], [NVME, replace(NVME, name="sda", transport="sata")],
     [replace(NVME, transport="virtio", flags_are_evidence=False)]],
    ids=["none", "not in sysfs", "one is no NVMe", "a hypervisor's"],
)  # fmt: skip
def test_without_every_link_there_is_no_limit(tmp_path, leaves):
    """A sum of a part would be too low a limit, and emulated links are made up."""
    assert probe_link(machine(tmp_path), leaves) is None


GEN3, GEN4 = (PcieLink(gigatransfers=speed, lanes_count=4) for speed in (8.0, 16.0))
LINK = DriveLink(name="nvme0n1", function="0000:02:00.0", current=GEN3, drive=GEN4, slot=GEN4, loaded=False)
ANSWER = '[[link]]\nfunction = "0000:02:00.0"\ngigatransfers = 16\nlanes = 4\n'


def slowed(folder, answers=""):
    """Make a drive of PCIe 4.0 x4 in a slot of the same, which runs at PCIe 3.0 now."""
    best = {"max_link_speed": "16.0 GT/s PCIe\n", "max_link_width": "4\n"}
    now = {"current_link_speed": "8.0 GT/s PCIe\n", "current_link_width": "4\n"}
    files = {f"{place}/{name}": text for place in (PORT, DRIVE) for name, text in (best | now).items()}
    return tree(
        folder, files=files | {f"{DISK}/dev": "259:0\n"}, links={"sys/class/block/nvme0n1": DISK}, answers=answers
    )


def test_a_link_is_read_with_what_both_its_ends_can(tmp_path):
    """An idle reading says that it is one."""
    assert probe_links(slowed(tmp_path), facts()) == LinkFacts(links=(LINK,), others=(), unknown="")


def test_a_captured_machine_tells_what_was_read_under_load(tmp_path):
    """It overrides the idle value, which a capture holds too."""
    (found,) = probe_links(slowed(tmp_path, ANSWER), facts()).links
    assert found == replace(LINK, current=GEN4, loaded=True)


def test_a_port_that_is_not_seen_tells_no_slot(tmp_path):
    """A virtual machine that was given the drive, or a board whose bridge is no PCI function."""
    root = slowed(tmp_path)
    for name in ("max_link_speed", "max_link_width"):
        root.path(f"{PORT}/{name}").unlink()
    assert probe_links(root, facts()).links == (replace(LINK, slot=None),)


@pytest.mark.parametrize(
    ("name", "links", "others"),
    [
        ("server-md-raid", 4, ()),
        ("server-nvme-multipath", 1, ()),
        ("laptop-asahi", 0, ("nvme0n1 (nvme)",)),
        ("vm-virtio", 0, ("vda (virtio)",)),
        ("desktop-sata-hdd", 0, ("sdb (sata)",)),
        ("wsl2-drvfs", 0, ()),
    ],
)
def test_each_machine_has_the_links_of_its_drives(name, links, others):
    """Every member of an array and every controller of a multipath drive; other disks are named."""
    found = Machine(captured(name)).links
    assert (len(found.links), found.others, found.unknown) == (links, others, "")


def test_disks_that_are_not_known_have_unknown_links():
    """The reason is that of the volume."""
    found = Machine(captured("docker-model-in-image")).links
    assert (found.links, found.unknown != "") == ((), True)


def test_disks_of_a_hypervisor_make_their_links_up(tmp_path):
    """An emulated NVMe drive is no link to judge."""
    volume = replace(VOLUME, leaves=(leaf("emulated", evidence=False, name="nvme0n1"),))
    assert probe_links(slowed(tmp_path), facts(volume)).others == ("nvme0n1 (emulated)",)


@pytest.fixture
def shard(tmp_path):
    """Give a file that can be read past the page cache."""
    if not hasattr(os, "O_DIRECT"):
        pytest.skip("this system has no O_DIRECT")
    path = tmp_path / "shard.gguf"
    path.write_bytes(os.urandom(4 * 2**20))
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_DIRECT))
    except OSError:
        pytest.skip("this filesystem has no O_DIRECT")
    return path


def live(folder):
    """Give the slowed drive as this machine's, with what a capture would keep of it."""
    root, noted = slowed(folder), []
    root.live = True
    root.note = lambda name, answer: noted.append((name, answer))
    return root, noted


def test_a_low_link_is_read_again_while_the_drive_is_read(tmp_path, shard):
    """One that rises under load is as it was at its best, and a capture keeps that."""
    root, noted = live(tmp_path / "root")

    def rise():
        time.sleep(0.2)
        root.path(f"{DRIVE}/current_link_speed").write_text("16.0 GT/s PCIe\n")

    thread = threading.Thread(target=rise)
    thread.start()
    (found,) = probe_links(root, facts(replace(VOLUME, shards=(str(shard),)))).links
    thread.join()
    assert found == replace(LINK, current=GEN4, loaded=True)
    assert noted == [("link", {"function": "0000:02:00.0", "gigatransfers": 16.0, "lanes": 4})]
    assert "link-load" not in {thread.name for thread in threading.enumerate()}


def test_a_link_that_stays_low_under_load_is_known_to_be_low(tmp_path, shard):
    """It was read, and it did not rise."""
    root, _ = live(tmp_path / "root")
    (found,) = probe_links(root, facts(replace(VOLUME, shards=(str(shard),)))).links
    assert found == replace(LINK, loaded=True)


@pytest.mark.skipif(sys.platform != "linux", reason="O_DIRECT is Linux's")
@pytest.mark.parametrize("shards", [(), ("/absent.gguf",)])
def test_without_anything_to_read_the_link_stays_idle(tmp_path, shards):
    """A model that is still to come loads nothing."""
    root, noted = live(tmp_path / "root")
    (found,) = probe_links(root, facts(replace(VOLUME, shards=shards))).links
    assert (found, noted) == (LINK, [])


def test_a_link_at_its_slot_s_best_needs_no_load(tmp_path, shard):
    """A new drive in an older machine is not read for it."""
    root, noted = live(tmp_path / "root")
    root.path(f"{PORT}/max_link_speed").write_text("8.0 GT/s PCIe\n")
    (found,) = probe_links(root, facts(replace(VOLUME, shards=(str(shard),)))).links
    assert (found, noted) == (replace(LINK, slot=GEN3), [])
