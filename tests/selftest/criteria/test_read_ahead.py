"""Read-ahead against slabs, and the lines that change it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.criteria.read_ahead import advised_fix, advised_kib, describe_read_ahead
from streamworthy.criteria.storage import read_ahead
from streamworthy.facts.disk import ReadAheadFacts
from streamworthy.verdict import Word
from tests.selftest.criteria.asked import limit
from tests.selftest.criteria.disk_reads import DEVICE, LARGE, MIB, READ_AHEAD, REFUSED, SLABS, slabs


@pytest.mark.parametrize(
    ("slab", "kib"),
    [(0, 16), (135 * 2**10, 16), (2**20, 64), (2 * MIB, 128), (6_600_000, 256), (8 * MIB, 512), (64 * MIB, 512)],
)
def test_a_sixteenth_of_a_slab_as_a_power_of_two(slab, kib):
    """Never less than 16 KiB, below which each page is a read of its own, nor more than 512."""
    assert advised_kib(slab) == kib


def test_the_fix_is_for_each_kind_of_device():
    """A disk and a mapped device by udev, found again by kernel name or by their own; btrfs by its own setting."""
    mapped = replace(DEVICE, device="dm-0", udev_match='ENV{DM_NAME}=="vg-home"', read_ahead_bytes=MIB)
    btrfs = replace(DEVICE, udev_match="", setting="/sys/fs/btrfs/1b-2c/bdi/read_ahead_kb", read_ahead_bytes=4 * MIB)
    fix = advised_fix(ReadAheadFacts(devices=(DEVICE, mapped, btrfs)), 2 * MIB)
    assert fix == (
        "sudo blockdev --setra 256 /dev/dm-0  # now; restart the engine",
        (
            'echo \'ACTION=="add|change", SUBSYSTEM=="block", '
            'ENV{DM_NAME}=="vg-home", ATTR{queue/read_ahead_kb}="128"\''
            " | sudo tee /etc/udev/rules.d/99-read-ahead-dm-0.rules  # at each boot"
        ),
        "echo 128 | sudo tee /sys/fs/btrfs/1b-2c/bdi/read_ahead_kb  # now; restart the engine",
        (
            "echo 'w /sys/fs/btrfs/1b-2c/bdi/read_ahead_kb - - - - 128' | sudo tee /etc/tmpfiles.d/read-ahead.conf"
            "  # at each boot"
        ),
    )


def test_no_device_has_a_setting():
    """tmpfs and network filesystems have none."""
    assert "no device" in describe_read_ahead(ReadAheadFacts(devices=()))


@pytest.mark.parametrize(("kib", "word"), [(16, Word.PASS), (384, Word.PASS), (385, Word.FAIL), (8192, Word.FAIL)])
def test_a_sixteenth_of_the_smallest_slab_is_the_limit(kib, word):
    """Inclusive; a miss names setting, slab, measured cost and the fix."""
    facts = ReadAheadFacts(devices=(replace(DEVICE, read_ahead_bytes=kib * 2**10),))
    found = read_ahead(facts, SLABS, limit(at_most=1 / 16))
    assert (found.word, found.value) == (word, kib / 1024 / 6)
    if word is Word.FAIL:
        assert "/sys/block/nvme0n1/queue/read_ahead_kb" in found.cause
        assert "slab 6.0 MiB" in found.cause
        assert "read 1.20 bytes for each byte" in found.cause
        assert found.fix


def test_the_setting_is_judged_also_when_nothing_was_measured():
    """A disturbed disk has its setting all the same; the cost is then said to be unknown."""
    found = read_ahead(LARGE, replace(SLABS, sizes=(), state=REFUSED), limit(at_most=1 / 16))
    assert found.word is Word.FAIL
    assert "not measured" in found.cause


def test_a_cost_that_no_disk_had_is_not_told():
    """Where memory or a process answered, "0.00 bytes for each byte" would be a boast."""
    doubted = replace(SLABS, state=replace(SLABS.state, doubts=("the devices below gave 0 B of 9 B",)))
    found = read_ahead(LARGE, doubted, limit(at_most=1 / 16))
    assert found.word is Word.FAIL
    assert "what it costs was not measured: the devices below gave 0 B" in found.cause


def test_the_largest_setting_decides():
    """Of several devices the one that fetches most."""
    both = ReadAheadFacts(devices=(*READ_AHEAD.devices, *LARGE.devices))
    assert read_ahead(both, SLABS, limit(at_most=1 / 16)).value == 8 / 6


@pytest.mark.parametrize(
    "facts", [ReadAheadFacts(devices=()), ReadAheadFacts(devices=(replace(DEVICE, read_ahead_bytes=None),))]
)
def test_an_unknown_setting_is_an_error(facts):
    """Unknown is not safe."""
    assert read_ahead(facts, SLABS, limit(at_most=1 / 16)).word is Word.ERROR


def test_a_dense_model_does_not_ask():
    """Without slabs there is nothing to be larger than."""
    dense = replace(slabs(), dense="the model has no experts", slab_sizes_bytes=())
    assert read_ahead(LARGE, dense, limit(at_most=1 / 16)).word is Word.NOT_APPLICABLE


@pytest.mark.parametrize("kib", [0, 4, 15])
def test_hardly_any_read_ahead_is_a_miss_of_its_own(kib):
    """elastic#88007 and others: databases switch it off, and a slab of 6 MiB is then 1536 reads in a row."""
    found = read_ahead(
        ReadAheadFacts(devices=(replace(DEVICE, read_ahead_bytes=kib * 2**10),)), SLABS, limit(at_most=1 / 16)
    )
    assert found.word is Word.FAIL
    assert found.required.startswith("at least 16.0 KiB, at most 6.2")
    assert "each page fault reads next to nothing" in found.cause
    assert found.fix[0] == "sudo blockdev --setra 512 /dev/nvme0n1  # now; restart the engine"


def test_one_device_without_read_ahead_is_not_hidden_by_another():
    """Shards on two volumes have two settings."""
    without = replace(DEVICE, device="nvme1n1", read_ahead_bytes=0)
    found = read_ahead(ReadAheadFacts(devices=(DEVICE, without)), SLABS, limit(at_most=1 / 16))
    assert (found.word, found.measured) == (Word.FAIL, "0 B on one of 2 devices")
    assert all("nvme1n1" in line for line in found.fix)
