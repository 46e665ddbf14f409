"""The disks' own sensors and limits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.facts.conditions import DriveTemperature, TemperatureFacts
from streamworthy.probes.temperature import disks_celsius, find_cpu_sensors, hottest, probe_temperatures
from tests.selftest.criteria.volumes import NVME as LEAF
from tests.selftest.criteria.volumes import VOLUME, facts, leaf
from tests.selftest.probes.trees import tree

NVME = {
    "sys/block/nvme0n1/device/hwmon3/temp1_input": "41850\n",
    "sys/block/nvme0n1/device/hwmon3/temp1_max": "81850\n",
    "sys/block/nvme0n1/device/hwmon3/temp1_crit": "84850\n",
}
DRIVE = DriveTemperature(name="nvme0n1", virtual=False, celsius=41.85, warning_celsius=81.85, critical_celsius=84.85)


def probe(root, *leaves):
    """Read the temperatures of a model on these disks."""
    return probe_temperatures(root, facts(replace(VOLUME, leaves=leaves)))


def test_a_drive_tells_its_temperature_and_limits(tmp_path):
    """Whole record."""
    assert probe(tree(tmp_path, files=NVME), LEAF) == TemperatureFacts(drives=(DRIVE,))


@pytest.mark.parametrize(
    ("name", "text", "field"),
    [
        ("temp1_max", "65261850", "warning_celsius"),
        ("temp1_crit", "0", "critical_celsius"),
        ("temp1_max", "", "warning_celsius"),
        ("temp1_crit", "hot", "critical_celsius"),
        ("temp1_input", "", "celsius"),
        ("temp1_input", "-273150", "celsius"),
    ],
)
def test_a_limit_that_the_drive_does_not_set_is_none(tmp_path, name, text, field):
    """The driver writes 65261.85 C, 0 K, or nothing."""
    files = NVME | {f"sys/block/nvme0n1/device/hwmon3/{name}": f"{text}\n"}
    (drive,) = probe(tree(tmp_path, files=files), LEAF).drives
    assert getattr(drive, field) is None


def test_scsi_drives_keep_their_sensor_one_folder_deeper(tmp_path):
    """drivetemp registers below device/hwmon."""
    files = {"sys/block/sda/device/hwmon/hwmon1/temp1_input": "35000\n"}
    (drive,) = probe(tree(tmp_path, files=files), leaf("sata", name="sda")).drives
    assert (drive.celsius, drive.warning_celsius, drive.critical_celsius) == (35.0, None, None)


@pytest.mark.parametrize(
    "sensor",
    [
        "device/hwmon3",
        "device/device/hwmon/hwmon3",
        "device/nvme0/hwmon3",
        "device/nvme1/device/hwmon/hwmon3",
    ],
    ids=["5.12", "5.5", "multipath 5.12", "multipath 5.5"],
)
def test_a_drive_s_sensor_is_its_controller_s(tmp_path, sensor):
    """Of a multipath drive the folder device is the subsystem, and its controllers stand below."""
    root = tree(tmp_path, files={f"sys/block/nvme0n1/{sensor}/temp1_input": "41850\n"})
    (drive,) = probe(root, LEAF).drives
    assert (drive.celsius, disks_celsius(root, ["sda", "nvme0n1"])) == (41.85, 41.85)


def test_the_hottest_disk_counts(tmp_path):
    """Of several disks; none when there is none to ask."""
    files = NVME | {"sys/block/nvme1n1/device/hwmon4/temp1_input": "52850\n"}
    root = tree(tmp_path, files=files)
    assert disks_celsius(root, ["nvme0n1", "nvme1n1"]) == 52.85
    assert disks_celsius(root, ["vda"]) is None
    assert disks_celsius(root, []) is None


def test_the_processors_sensors_are_found_by_their_driver(tmp_path):
    """Neither the drive's nor the board's; the hottest of two sockets, whatever one does not tell."""
    names = {"hwmon0": "nvme", "hwmon1": "coretemp", "hwmon2": "acpitz", "hwmon3": "k10temp"}
    files = {f"sys/class/hwmon/{folder}/name": f"{name}\n" for folder, name in names.items()}
    temperatures = {"hwmon0": "80000", "hwmon1": "61000", "hwmon3": "hot"}
    files |= {f"sys/class/hwmon/{folder}/temp1_input": f"{text}\n" for folder, text in temperatures.items()}
    root = tree(tmp_path, files=files)
    sensors = find_cpu_sensors(root)
    assert sensors == ["sys/class/hwmon/hwmon1", "sys/class/hwmon/hwmon3"]
    assert hottest([root.keep(f"{sensor}/temp1_input") for sensor in sensors]) == 61.0
    assert hottest([root.keep("sys/class/hwmon/hwmon9/temp1_input")]) is None


def test_a_disk_without_a_sensor_is_said_to_be_so(tmp_path):
    """A hypervisor's disk is expected to have none, and another machine's has it there."""
    leaves = (leaf("virtio", name="vda"), leaf("sata", name="sdb"), leaf("nvme-fabrics", name="nvme2n1"))
    found = probe(tree(tmp_path), *leaves)
    assert [(drive.name, drive.virtual, drive.celsius) for drive in found.drives] == [
        ("vda", True, None),
        ("sdb", False, None),
        ("nvme2n1", True, None),
    ]
