"""What PCIe links carry."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.probes.link import parse_link, probe_link
from tests.selftest.criteria.volumes import NVME
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
    ],
)
def test_a_link_is_lanes_times_speed_less_its_code(speed, width, gigabytes):
    """Each generation as its specification has it; kernels before 5.7 wrote no "PCIe"."""
    assert parse_link(speed, width) == pytest.approx(gigabytes * 1e9, rel=1e-3)


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
