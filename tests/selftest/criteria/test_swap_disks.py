"""Whether swap lies where it may, and how much of it there is and is used."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.criteria import memory
from streamworthy.facts.memory import SwapFacts
from streamworthy.facts.storage import BlockLeaf
from streamworthy.verdict import Word
from tests.selftest.criteria.asked import limit
from tests.selftest.facts.test_memory import GIB, SWAP

FLASH = BlockLeaf(
    name="nvme0n1",
    major_minor="259:0",
    transport="nvme",
    rotational=False,
    flags_are_evidence=True,
    model="Example",
    size_bytes=2 * 10**12,
    read_ahead_bytes=2**17,
    chain=("nvme0n1p3", "nvme0n1"),
)
SPINNING = replace(FLASH, name="sda", major_minor="8:0", transport="sata", rotational=True)
VIRTUAL = replace(FLASH, name="vda", major_minor="254:0", transport="virtio", rotational=True, flags_are_evidence=False)
FAR = replace(FLASH, name="nbd0", transport="nbd", flags_are_evidence=False)
DEVICE = replace(SWAP, size_bytes=8 * GIB, used_bytes=64 * 2**20, leaves=(FLASH,))
ZRAM = replace(DEVICE, path="/dev/zram0", kind="zram", leaves=())


def swap(*devices, model_disks=("259:7",), swappiness=60, wsl=False):
    """Make facts of these devices."""
    return SwapFacts(devices=devices, swappiness=swappiness, model_disks=model_disks, wsl=wsl)


@pytest.mark.parametrize(
    ("facts", "word", "cause"),
    [
        (swap(DEVICE), Word.PASS, ""),
        (swap(ZRAM), Word.PASS, ""),
        (swap(DEVICE, model_disks=None), Word.PASS, ""),
        (
            swap(DEVICE, model_disks=("259:0",)),
            Word.ADVICE,
            "swap /dev/sda2 shares the disk nvme0n1 with the model: each slows the other down",
        ),
        (swap(replace(DEVICE, leaves=(SPINNING,))), Word.FAIL, "swap /dev/sda2 lies on the spinning disk sda"),
        (swap(replace(DEVICE, leaves=(FLASH, SPINNING))), Word.FAIL, "swap /dev/sda2 lies on the spinning disk sda"),
        (
            swap(replace(DEVICE, leaves=(SPINNING,)), model_disks=("8:0",)),
            Word.FAIL,
            "swap /dev/sda2 lies on the spinning disk sda",
        ),
        (
            swap(replace(DEVICE, leaves=(VIRTUAL,))),
            Word.ERROR,
            "swap /dev/sda2 lies on vda (virtio), which does not tell whether it spins",
        ),
        (
            swap(replace(DEVICE, leaves=(VIRTUAL,)), model_disks=("254:0",)),
            Word.ADVICE,
            "swap /dev/sda2 shares the disk vda with the model: each slows the other down",
        ),
        (
            swap(replace(DEVICE, leaves=(), leaves_unknown="no such block device")),
            Word.ERROR,
            "the disk of swap /dev/sda2 is not known: no such block device",
        ),
        (
            swap(ZRAM, DEVICE, replace(DEVICE, path="/s", leaves=(SPINNING,))),
            Word.FAIL,
            "swap /s lies on the spinning disk sda",
        ),
    ],
)
def test_swap_is_judged_by_the_disks_beneath_it(facts, word, cause):
    """Spinning fails, the model's disk is advised against, an untold medium is an error, the worst device decides."""
    found = memory.swap_location(facts, limit())
    assert (found.word, found.cause, bool(found.fix)) == (word, cause, word is not Word.PASS)


def test_each_swap_device_is_named():
    """What was measured says where all swap lies."""
    found = memory.swap_location(swap(ZRAM, DEVICE), limit())
    assert found.measured == "/dev/zram0 (compressed, in memory); /dev/sda2 on nvme0n1 nvme"


def test_no_swap_asks_nothing_about_swap():
    """Location, use and swappiness do not apply; the value of the setting is shown."""
    none = swap()
    assert memory.swap_location(none, limit()).word is Word.NOT_APPLICABLE
    assert memory.swap_in_use(none, limit(at_most=0)).word is Word.NOT_APPLICABLE
    found = memory.swappiness(none, limit(at_most=0))
    assert (found.word, found.measured) == (Word.NOT_APPLICABLE, "60")


@pytest.mark.parametrize(
    ("bounds", "word"),
    [
        ({}, Word.PASS),
        ({"at_least": 8 * GIB}, Word.PASS),
        ({"at_least": 8 * GIB + 1}, Word.FAIL),
        ({"at_most": 8 * GIB}, Word.PASS),
        ({"at_most": 8 * GIB - 1}, Word.FAIL),
        ({"at_least": GIB, "at_most": 16 * GIB}, Word.PASS),
    ],
)
def test_swap_size_is_judged_at_both_bounds(bounds, word):
    """Each bound may be left out."""
    found = memory.swap_size(swap(DEVICE), limit(**bounds))
    assert (found.word, found.value) == (word, 8 * GIB)


def test_zram_is_no_cushion_and_counts_as_swap():
    """It fails a lower bound alone, and an upper bound together with the rest."""
    short = memory.swap_size(swap(ZRAM), limit(at_least=GIB))
    assert (short.word, short.value, short.cause) == (
        Word.FAIL,
        0,
        "zram is swap inside the memory that is short, so it is no cushion",
    )
    assert memory.swap_size(swap(ZRAM, DEVICE), limit(at_most=12 * GIB)).value == 16 * GIB


@pytest.mark.parametrize(("bounds", "word"), [({"at_most": 8 * GIB}, Word.PASS), ({"at_least": GIB}, Word.FAIL)])
def test_no_swap_is_fine_unless_a_cushion_is_asked(bounds, word):
    """The remedy makes a swap file of the size that is asked."""
    found = memory.swap_size(swap(), limit(**bounds))
    assert found.word is word
    assert ("count=1024" in " ".join(found.fix)) is (word is Word.FAIL)


@pytest.mark.parametrize(
    ("asked", "word"), [(64 * 2**20 + 1, Word.PASS), (64 * 2**20, Word.PASS), (64 * 2**20 - 1, Word.FAIL)]
)
def test_swap_in_use_is_judged_at_its_limit(asked, word):
    """Each device's use is in the evidence."""
    found = memory.swap_in_use(swap(DEVICE), limit(at_most=asked))
    assert (found.word, found.measured, found.evidence) == (word, "64.0 MiB", ("/dev/sda2=64.0 MiB",))


@pytest.mark.parametrize(
    ("value", "asked", "word"),
    [(60, 61, Word.PASS), (60, 60, Word.PASS), (60, 59, Word.FAIL), (200, 100, Word.FAIL), (0, 0, Word.PASS)],
)
def test_swappiness_is_judged_at_its_limit(value, asked, word):
    """The remedy sets the limit itself."""
    found = memory.swappiness(swap(DEVICE, swappiness=value), limit(at_most=asked))
    assert (found.word, found.fix) == (word, () if word is Word.PASS else (f"sudo sysctl vm.swappiness={asked}",))


@pytest.mark.parametrize(("devices", "word"), [((ZRAM,), Word.NOT_APPLICABLE), ((ZRAM, DEVICE), Word.FAIL)])
def test_swap_in_memory_alone_may_have_any_swappiness(devices, word):
    """Distributions with zram set 100 to 200; a disk beside it is swapped to as readily."""
    assert memory.swappiness(swap(*devices, swappiness=180), limit(at_most=10)).word is word


def test_an_unknown_swappiness_is_an_error():
    """With swap but without the setting nothing can be said."""
    assert memory.swappiness(swap(DEVICE, swappiness=None), limit(at_most=60)).word is Word.ERROR


@pytest.mark.parametrize("device", [replace(DEVICE, leaves=(), network="nfs4"), replace(DEVICE, leaves=(FAR,))])
def test_swap_beyond_a_network_is_advised_against(device):
    """Whether it spins is not the question there."""
    found = memory.swap_location(swap(device), limit())
    assert (found.word, "beyond a network" in found.cause) == (Word.ADVICE, True)


def test_paths_in_remedies_are_quoted():
    """The kernel takes a swap file of any name."""
    file = replace(DEVICE, path="/my swap", kind="file", leaves=(SPINNING,))
    assert memory.swap_location(swap(file), limit()).fix[0] == "sudo swapoff '/my swap'"
    assert memory.swap_size(swap(file), limit(at_most=GIB)).fix == ("sudo swapoff '/my swap'",)


def test_swap_is_emptied_device_by_device():
    """swapon -a brings back what stands in /etc/fstab, and zram does not; unused devices are left alone."""
    zram = replace(ZRAM, priority=100, used_bytes=GIB)
    file = replace(DEVICE, path="/my swap", used_bytes=GIB)
    host = replace(DEVICE, path="none", kind="virtual", used_bytes=GIB)
    found = memory.swap_in_use(swap(zram, file, host, replace(DEVICE, used_bytes=0)), limit(at_most=GIB))
    assert found.fix[1:] == (
        "sudo swapoff /dev/zram0 && sudo swapon --priority 100 /dev/zram0",
        "sudo swapoff '/my swap' && sudo swapon '/my swap'",
    )


@pytest.mark.parametrize(
    ("judge", "devices", "bounds", "setting"),
    [
        (memory.swap_size, (DEVICE,), {"at_most": 4 * GIB}, "swap=4GB"),
        (memory.swap_size, (), {"at_least": 2 * GIB}, "swap=2GB"),
        (memory.swap_location, (replace(DEVICE, leaves=(VIRTUAL,)),), {}, "swap=0"),
    ],
)
def test_under_wsl_swap_is_set_in_windows(judge, devices, bounds, setting):
    """Its disk is made anew at each start: what is changed in the guest is gone then."""
    found = judge(swap(*devices, wsl=True), limit(**bounds))
    assert found.fix == (
        r"in Windows, in %UserProfile%\.wslconfig, each key on its own line: [wsl2]",
        setting,
        "then in Windows: wsl --shutdown",
    )
