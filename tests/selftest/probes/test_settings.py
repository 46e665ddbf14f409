"""What is recorded and judged nowhere."""

from __future__ import annotations

import pytest

from streamworthy.facts.settings import Setting, SettingsFacts
from streamworthy.probes.machine import Machine
from streamworthy.probes.settings import (
    APST,
    MGLRU,
    MICROCODE,
    mapping_kind,
    parse_choice,
    parse_microcode,
    probe_settings,
    telling_parameters,
)
from streamworthy.probes.sysroot import Sysroot
from tests.selftest.probes.trees import MACHINES, disk, machine, numbered, tree

_FUNCTION = "sys/devices/pci0000:00/0000:01:00.0"
_DRIVE = f"{_FUNCTION}/nvme/nvme0/nvme0n1"
_FILES = {
    MGLRU: "0x0007\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    APST: "100000\n",
    "proc/sys/vm/dirty_ratio": "20\n",
    "proc/cpuinfo": "processor\t: 0\nmicrocode\t: 0x2f\n\nprocessor\t: 1\nmicrocode\t: 0x30\n",
    "proc/cmdline": "BOOT_IMAGE=/vmlinuz root=UUID=1234 mitigations=off nvme_core.default_ps_max_latency_us=0 quiet\n",
    "sys/devices/system/cpu/vulnerabilities/meltdown": "Mitigation: PTI\n",
    f"{_FUNCTION}/link/l1_aspm": "1\n",
    f"{_FUNCTION}/nvme/nvme0/firmware_rev": "4B2QGXA7\n",
    "sys/devices/virtual/block/dm-0/dm/uuid": "CRYPT-LUKS2-0123456789abcdef-luks-root\n",
} | disk(_DRIVE, "259:0", queue__scheduler="[none] mq-deadline kyber", queue__max_sectors_kb="128")


def test_what_is_there_is_recorded_and_what_is_not_is_left_out(tmp_path):
    """Whole record: in a fixed order, with the path of each file as its name."""
    root = tree(tmp_path, files=_FILES, links=numbered((_DRIVE, "259:0"), ("sys/devices/virtual/block/dm-0", "253:0")))
    found = probe_settings(root, [("dm-0", "nvme0n1")])
    assert {setting.name: setting.value for setting in found.settings} == {
        MICROCODE: "0x2f 0x30",
        "proc/cmdline": "mitigations=off nvme_core.default_ps_max_latency_us=0",
        MGLRU: "0x0007",
        "sys/kernel/mm/transparent_hugepage/enabled": "madvise",
        APST: "100000",
        "proc/sys/vm/dirty_ratio": "20",
        "sys/devices/system/cpu/vulnerabilities/meltdown": "Mitigation: PTI",
        "sys/class/block/nvme0n1/queue/scheduler": "none",
        "sys/class/block/nvme0n1/queue/max_sectors_kb": "128",
        f"{_FUNCTION}/nvme/nvme0/firmware_rev": "4B2QGXA7",
        f"{_FUNCTION}/link/l1_aspm": "1",
        "sys/class/block/dm-0/dm/uuid": "CRYPT-LUKS2",
    }
    assert found.value(APST) == "100000"
    assert found.value("sys/no/such/file") is None


def test_what_may_not_be_read_is_said_to_be_there(tmp_path):
    """A kernel that refuses is not one that lacks it."""
    answers = f'[[unreadable]]\npath = "{MGLRU}"\nreason = "Permission denied"\n'
    found = probe_settings(tree(tmp_path, answers=answers), [])
    assert found == SettingsFacts(settings=(Setting(name=MGLRU, value=None),))


@pytest.mark.parametrize(
    ("text", "value"),
    [("always [madvise] never\n", "madvise"), ("0x0007\n", "0x0007"), ("", ""), ("a\n b\n", "a b"), ("[]", "[]")],
)
def test_of_a_choice_the_chosen_word_is_kept(text, value):
    """Everything else is one line."""
    assert parse_choice(text) == value


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("root=/dev/mapper/ada-root rd.luks.uuid=luks-1 ip=10.0.0.1::host nosmt", "nosmt"),
        (
            "pcie_aspm=off transparent_hugepage=never -- --addr 10.0.0.1 mitigations=off",
            "pcie_aspm=off transparent_hugepage=never",
        ),
        ("", ""),
    ],
)
def test_parameters_that_name_something_stay_out(text, kept):
    """Disks, hosts and addresses are no settings, nor is what the first process is told."""
    assert telling_parameters(text) == kept


@pytest.mark.parametrize(
    ("uuid", "kind"),
    [("CRYPT-LUKS2-0f1e-luks-x", "CRYPT-LUKS2"), ("LVM-aZ09", "LVM"), ("mpath-3600", "mpath"), ("", "")],
)
def test_a_mapping_is_known_by_its_kind(uuid, kind):
    """The rest of the uuid names one device."""
    assert mapping_kind(uuid) == kind


def test_arm_has_no_microcode():
    """Its cpuinfo has no such line."""
    assert parse_microcode("processor\t: 0\nCPU part\t: 0xd0c\n") == ""


def test_this_machine_and_every_captured_one_can_be_asked():
    """Nothing that a machine lacks is an error."""
    names = sorted(path.name for path in MACHINES.iterdir())
    assert len(names) > 30
    assert all(isinstance(Machine(machine(name)).settings, SettingsFacts) for name in names)
    assert probe_settings(Sysroot(), []).settings
