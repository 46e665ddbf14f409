"""The gates on disks: each limit at, below and above, each gate passing, failing and in error."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.criteria import storage
from streamworthy.units import SECONDS
from streamworthy.verdict import Word, verdict
from tests.selftest.criteria.asked import limit
from tests.selftest.criteria.volumes import NVME, VOLUME, facts, latency, leaf, on

ROTATIONAL = limit("storage.rotational", random_read_at_most=0.002)
TRANSPORT = limit("storage.transport", accept=("nvme", "virtual"), random_read_at_most=0.002)

HIDDEN = replace(VOLUME, leaves=(), leaves_unknown="/: the overlay's layers lie outside of this container's mounts")
VIRTIO = replace(VOLUME, leaves=(leaf("virtio", rotational=True, evidence=False, name="vda"),))


def test_flash_by_its_own_flag_passes_without_latency():
    """The flag of an NVMe drive is evidence."""
    assert storage.rotational(facts(), latency(), ROTATIONAL) == verdict(
        Word.PASS,
        measured="nvme0n1 (nvme, Samsung SSD 990 PRO 2TB) not spinning",
        required="not spinning (random read at most 2.0 ms)",
    )


def test_a_spinning_disk_fails_by_its_own_flag():
    """The disk is named; how fast it reads is not asked."""
    volume = replace(VOLUME, leaves=(leaf("sata", rotational=True, model="WDC WD4005FZBX"),))
    found = storage.rotational(facts(volume), latency(), ROTATIONAL)
    assert (found.word, found.measured) == (Word.FAIL, "sda (sata, WDC WD4005FZBX) spinning")
    assert "sda below /data spins" in found.cause


THERE = {"memory": on("tmpfs"), "behind FUSE": on("fuse.bindfs", network="fuse.bindfs")}


@pytest.mark.parametrize("below", THERE)
@pytest.mark.parametrize("above", ["ext4", "overlay"])
def test_no_disk_below_a_file_or_a_layer_is_no_drive(below, above):
    """A loop device's file or an overlay's layer in memory or behind a relay: the place is named, and none spins."""
    ground = replace(THERE[below].mount, mount_point="/there")
    volume = replace(on(above), leaves=(), beneath=(ground,))
    assert storage.rotational(facts(volume), latency(), ROTATIONAL).word is Word.NOT_APPLICABLE
    found = storage.transport(facts(volume), latency(), TRANSPORT)
    assert (found.word, found.measured) == (Word.FAIL, f"{ground.fstype} at /there, beneath /data")
    word = ground.network or "memory"
    assert (
        storage.transport(
            facts(volume), latency(), replace(TRANSPORT, values={**TRANSPORT.values, "accept": (word,)})
        ).word
        is Word.PASS
    )


@pytest.mark.parametrize(("median", "word"), [(0.00199, Word.PASS), (0.002, Word.PASS), (0.00201, Word.FAIL)])
def test_latency_settles_a_virtual_disk(median, word):
    """The flag says spinning and counts for nothing; the number, its samples and its basis are kept."""
    found = storage.rotational(facts(VIRTIO), latency(median), ROTATIONAL)
    assert (found.word, found.value, found.unit, found.samples) == (word, median, SECONDS.unit, (median, median))
    assert found.evidence[0].startswith("random_read_at_/data=median ")
    assert found.evidence[-1].startswith("basis=")


def test_a_virtual_disk_that_was_not_measured_is_an_error():
    """Both reasons are said: why the flag is no evidence and why there is no number."""
    found = storage.rotational(facts(VIRTIO), latency(), ROTATIONAL)
    assert found.word is Word.ERROR
    assert "the flag of vda (virtio) says spinning, which is no evidence there" in found.cause
    assert "the shards are in the page cache" in found.cause


def test_latency_of_another_volume_settles_nothing():
    """Each volume needs its own."""
    assert storage.rotational(facts(VIRTIO), latency(0.0001, mount_point="/x"), ROTATIONAL).word is Word.ERROR


def test_unknown_disks_may_be_settled_by_latency():
    """Inside a container the disks' names are unknown, that they do not spin can be measured."""
    assert storage.rotational(facts(HIDDEN), latency(0.0001), ROTATIONAL).word is Word.PASS
    assert storage.rotational(facts(HIDDEN), latency(), ROTATIONAL).word is Word.ERROR


def test_the_worst_leaf_decides():
    """A spinning disk behind an NVMe cache is found."""
    volume = replace(VOLUME, leaves=(NVME, leaf("sata", rotational=True)))
    found = storage.rotational(facts(volume), latency(), ROTATIONAL)
    assert (found.word, found.measured.count(";")) == (Word.FAIL, 1)


def test_a_network_has_no_disk_to_spin():
    """The network gate answers for it."""
    volume = replace(on("9p", network="9p"), leaves=())
    found = storage.rotational(facts(volume), latency(), ROTATIONAL)
    assert (found.word, found.cause) == (Word.NOT_APPLICABLE, "no disk of this machine lies below it")


def test_nvme_passes():
    """The whole verdict of the common case."""
    assert storage.transport(facts(), latency(), TRANSPORT) == verdict(
        Word.PASS, measured="nvme0n1 (nvme, Samsung SSD 990 PRO 2TB)", required="one of nvme, virtual"
    )


@pytest.mark.parametrize(
    "transport", ["sata", "sas", "usb", "sd", "emmc", "ufs", "raid", "iscsi", "nvme-fabrics", "ram"]
)
def test_each_other_transport_fails_with_its_cause(transport):
    """The disk and its transport are named."""
    found = storage.transport(facts(replace(VOLUME, leaves=(leaf(transport),))), latency(), TRANSPORT)
    assert (found.word, found.cause.startswith(f"sda is attached by {transport}: ")) == (Word.FAIL, True)


def test_an_nvme_drive_in_a_usb_case_is_usb():
    """The remedy names the slot it belongs into."""
    found = storage.transport(facts(replace(VOLUME, leaves=(leaf("usb", model="RTL9210 NVME"),))), latency(), TRANSPORT)
    assert (found.word, "M.2 slot" in found.fix[0]) == (Word.FAIL, True)


@pytest.mark.parametrize("transport", ["virtio", "vmware", "hyperv", "xen", "emulated"])
@pytest.mark.parametrize(("median", "word"), [(0.002, Word.PASS), (0.0021, Word.FAIL), (None, Word.ERROR)])
def test_a_virtual_disk_is_settled_by_latency_where_virtual_is_accepted(transport, median, word):
    """Fast enough, too slow, not measured."""
    volume = replace(VOLUME, leaves=(leaf(transport, evidence=False),))
    assert storage.transport(facts(volume), latency(median), TRANSPORT).word is word


def test_a_virtual_disk_fails_where_it_is_not_accepted():
    """A fast number does not make it NVMe."""
    strict = limit("storage.transport", accept=("nvme",), random_read_at_most=0.002)
    assert storage.transport(facts(VIRTIO), latency(0.00005), strict).word is Word.FAIL


@pytest.mark.parametrize(("median", "word"), [(0.0001, Word.PASS), (0.01, Word.FAIL), (None, Word.ERROR)])
def test_a_raid_controller_s_drive_is_settled_by_latency_where_raid_is_accepted(median, word):
    """The controller hides its drives, so its word alone is not enough."""
    accepting = limit("storage.transport", accept=("nvme", "raid"), random_read_at_most=0.002)
    volume = replace(VOLUME, leaves=(leaf("raid", rotational=True, evidence=False),))
    assert storage.transport(facts(volume), latency(median), accepting).word is word


@pytest.mark.parametrize(
    "volume", [HIDDEN, replace(VOLUME, leaves=(leaf("unknown", evidence=False),))], ids=["container", "odd path"]
)
def test_an_unknown_transport_is_an_error(volume):
    """Latency does not tell a bus."""
    assert storage.transport(facts(volume), latency(0.0001), TRANSPORT).word is Word.ERROR


@pytest.mark.parametrize(
    ("volume", "word"),
    [(replace(on("nfs4", network="nfs4"), leaves=()), "network"), (replace(on("tmpfs"), leaves=()), "memory")],
)
def test_no_drive_fails_unless_the_tier_accepts_it(volume, word):
    """Network and memory have words of their own."""
    assert storage.transport(facts(volume), latency(), TRANSPORT).word is Word.FAIL
    accepting = limit("storage.transport", accept=("nvme", word), random_read_at_most=0.002)
    assert storage.transport(facts(volume), latency(), accepting).word is Word.PASS


def test_flash_in_front_of_a_spinning_disk_holds_a_part_only():
    """dm-cache, or a volume that spans both: the disk that spins decides, and the flash is named."""
    volume = replace(VOLUME, leaves=(NVME, leaf("sata", rotational=True)))
    found = storage.rotational(facts(volume), latency(), ROTATIONAL)
    assert (found.word, found.cause) == (
        Word.FAIL,
        "sda below /data spins: about 10 ms for each random read; only what lies, or is cached, on nvme0n1 is on flash",
    )


def test_what_is_no_drive_is_left_as_its_filesystem_is_left():
    """In WSL2 lsblk lists no NVMe drive to move the shards to, whatever the machine has."""
    windows = replace(
        on("9p", network="9p", super_options=("rw", "aname=drvfs;path=C:\\")), leaves=(), leaves_unknown=None
    )
    assert "wsl.exe --mount" in "\n".join(storage.transport(facts(windows), latency(), TRANSPORT).fix)
    nfs = replace(on("nfs4", network="nfs4"), leaves=())
    assert storage.transport(facts(nfs), latency(), TRANSPORT).fix[0].startswith("findmnt --real")
