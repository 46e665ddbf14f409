"""The health log of NVMe drives, from its bytes, from devices that have none, and from captured machines."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamworthy.errors import ParseError, ProbeError
from streamworthy.facts.drives import ArrayState, DriveHealth, HealthFacts, HealthLog
from streamworthy.probes.health import ask_drive, parse_health_log, probe_health
from streamworthy.probes.machine import Machine
from streamworthy.probes.sysroot import Sysroot
from tests.selftest.criteria.volumes import NVME, VOLUME, facts, leaf
from tests.selftest.probes.folder import captured
from tests.selftest.probes.health_log import health_log
from tests.selftest.probes.trees import tree

HEALTHY = HealthLog(
    critical_warning=0, spare_share=1.0, spare_threshold_share=0.1, used_share=0.0, media_errors_count=0
)


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        (health_log(), HEALTHY),
        (health_log(spare=9, warning=1), replace(HEALTHY, spare_share=0.09, critical_warning=1)),
        (health_log(used=255), replace(HEALTHY, used_share=2.55)),
        (health_log(threshold=5), replace(HEALTHY, spare_threshold_share=0.05)),
        (health_log(media_errors=3), replace(HEALTHY, media_errors_count=3)),
        (health_log(media_errors=2**128 - 1), replace(HEALTHY, media_errors_count=2**128 - 1)),
        (health_log(warning=0x3F), replace(HEALTHY, critical_warning=63)),
    ],
)
def test_a_log_is_read_at_its_offsets(raw, found):
    """Each value alone, with its neighbours set: the temperature before the spare is two bytes."""
    assert len(raw) == 512
    assert parse_health_log(raw) == found


@pytest.mark.parametrize("raw", [b"", health_log()[:511], health_log() + b"\0", bytes(512)])
def test_what_no_drive_writes_is_a_parse_error(raw):
    """A page that was not filled is not a drive at zero spare."""
    with pytest.raises(ParseError, match="health log: NVMe log page 02h: found"):
        parse_health_log(raw)


@given(st.binary(min_size=500, max_size=520) | st.binary(min_size=512, max_size=512))
def test_any_bytes_are_a_log_or_a_parse_error(raw):
    """Shares stay shares of a byte."""
    with contextlib.suppress(ParseError):
        assert 0 <= parse_health_log(raw).used_share <= 2.55


@pytest.mark.skipif(sys.platform != "linux", reason="asks this kernel")
@pytest.mark.parametrize("device", ["/dev/null", "/dev/absent"])
def test_a_device_that_is_no_nvme_drive_cannot_be_asked(device):
    """The kernel's reason is in the message."""
    with pytest.raises(ProbeError, match=f"{device}: its health cannot be asked: "):
        ask_drive(device)


def test_a_live_drive_that_cannot_be_asked_says_why_and_a_capture_keeps_it():
    """No such drive here: unknown, with its name."""
    root, noted = Sysroot(), []
    root.note = lambda table, answer: noted.append((table, answer))
    absent = replace(NVME, name="nvme77n7")
    (drive,) = probe_health(root, facts(replace(VOLUME, leaves=(absent,)))).drives
    assert (drive.log, "/dev/nvme77n7: its health cannot be asked" in drive.unknown) == (None, True)
    assert noted == [("health", {"disk": "nvme77n7", "unknown": drive.unknown})]


def test_a_captured_machine_answers_from_its_file(tmp_path):
    """A log, a reason, and nothing at all."""
    log = "\n".join(["[[health]]", 'disk = "nvme0n1"', *(f"{key} = {value}" for key, value in asdict(HEALTHY).items())])
    found = probe_health(tree(tmp_path / "log", answers=log), facts())
    assert found == HealthFacts(
        drives=(DriveHealth(name="nvme0n1", log=HEALTHY, unknown=""),), arrays=(), others=(), unknown=""
    )
    reason = tree(tmp_path / "reason", answers='[[health]]\ndisk = "nvme0n1"\nunknown = "Permission denied"\n')
    assert probe_health(reason, facts()).drives[0].unknown == "Permission denied"
    assert "has no [[health]]" in probe_health(tree(tmp_path / "none"), facts()).drives[0].unknown


def test_other_disks_are_named_and_not_asked(tmp_path):
    """SATA drives, and drives that a hypervisor makes up."""
    volume = replace(VOLUME, leaves=(leaf("sata"), leaf("emulated", name="nvme0n1", evidence=False)))
    found = probe_health(tree(tmp_path), facts(volume))
    assert (found.drives, found.others) == ((), ("sda (sata)", "nvme0n1 (emulated)"))


def test_disks_that_are_not_known_have_unknown_health():
    """The reason is that of the volume."""
    assert Machine(captured("docker-model-in-image")).health.unknown


def test_an_array_that_can_lack_members_tells_whether_it_does(tmp_path):
    """RAID 0 and linear have no such file: they end with any member."""
    files = {
        "sys/class/block/md0/md/degraded": "1\n",
        "sys/class/block/md0/md/level": "raid5\n",
        "sys/class/block/md0/md/sync_action": "recover\n",
        "sys/class/block/md1/md/level": "raid0\n",
    }
    disk = replace(NVME, name="sda", transport="sata", chain=("md0", "md1", "sda"))
    found = probe_health(tree(tmp_path, files=files), facts(replace(VOLUME, leaves=(disk,))))
    assert found.arrays == (ArrayState(name="md0", level="raid5", lacking_count=1, action="recover"),)
