"""Disks that a hypervisor makes up: what their flag is worth, and where a slow one is mended."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.criteria import storage
from tests.selftest.criteria.asked import limit
from tests.selftest.criteria.volumes import VOLUME, facts, latency, leaf

ROTATIONAL = limit("storage.rotational", random_read_at_most=0.002)
TRANSPORT = limit("storage.transport", accept=("nvme", "virtual", "raid"), random_read_at_most=0.002)


def _fix(disk, *, median=None):
    volume = replace(VOLUME, leaves=(disk,))
    times = latency() if median is None else latency(median)
    return "\n".join(storage.rotational(facts(volume), times, ROTATIONAL).fix)


FLAGGED = {
    "virtio-blk": (leaf("virtio", rotational=True, evidence=False, name="vda"), "virtio-blk cannot tell it"),
    "virtio-scsi": (leaf("virtio", rotational=True, evidence=False, name="sda", model="QEMU HARDDISK"), "ssd=1"),
    "QEMU SATA": (leaf("emulated", rotational=True, evidence=False, model="QEMU HARDDISK"), "rotation_rate=1"),
    "VMware": (leaf("vmware", rotational=True, evidence=False, model="Virtual disk"), "virtualSSD"),
    "VirtualBox": (leaf("emulated", rotational=True, evidence=False, model="VBOX HARDDISK"), "--nonrotational on"),
    "Hyper-V": (leaf("hyperv", rotational=True, evidence=False, model="Virtual Disk"), "nothing to set"),
    "Xen": (leaf("xen", rotational=True, evidence=False, name="xvda"), "nothing to set"),
}


@pytest.mark.parametrize("kind", FLAGGED)
def test_a_virtual_disk_flagged_as_spinning_may_be_ignored_or_told_right_by_its_hypervisor(kind):
    """Each hypervisor has its own way or none; writing 0 into the flag changes nothing and is never advised."""
    disk, told = FLAGGED[kind]
    fix = _fix(disk)
    assert "ignore the flag" in fix
    assert told in fix
    assert "echo" not in fix
    others = {text for _, text in FLAGGED.values()} - {told, "rotation_rate=1", "ssd=1"}
    assert not any(text in fix for text in others)


def test_no_word_is_lost_on_a_flag_that_calls_a_virtual_disk_flash():
    """There is nothing to ignore or to set."""
    disk, _ = FLAGGED["virtio-scsi"]
    assert "flag" not in _fix(replace(disk, rotational=False))


@pytest.mark.parametrize(
    ("disk", "told"),
    [
        (FLAGGED["virtio-blk"][0], "on the hypervisor: keep the disk's image raw, on NVMe"),
        (FLAGGED["VMware"][0], "datastore"),
        (FLAGGED["Hyper-V"][0], ".vhdx"),
        (leaf("emulated", evidence=False, name="nvme0n1", model="Amazon Elastic Block Store"), "more operations"),
        (leaf("raid", rotational=True, evidence=False, model="LOGICAL VOLUME"), "lsblk"),
    ],
)
def test_a_slow_virtual_disk_is_mended_where_its_hypervisor_runs(disk, told):
    """Inside of the guest there may be no other drive to move the shards to."""
    assert told in _fix(disk, median=0.01)
    volume = replace(VOLUME, leaves=(disk,))
    assert told in "\n".join(storage.transport(facts(volume), latency(0.01), TRANSPORT).fix)
