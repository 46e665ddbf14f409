"""The gate on PCIe links: it passes at its best, fails when it stays low under load, and errors where it was idle."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.criteria import storage
from streamworthy.facts.drives import DriveLink, LinkFacts, PcieLink
from streamworthy.probes.machine import Machine
from streamworthy.verdict import Word
from tests.selftest.criteria.asked import limit
from tests.selftest.probes.folder import captured, changed

LIMIT = limit("storage.link")
DRIVE = "sys/devices/pci0000:00/0000:00:06.0/0000:02:00.0"
ANSWER = '\n[[link]]\nfunction = "0000:02:00.0"\ngigatransfers = 2.5\nlanes = 1\n'


def link(speed, lanes):
    """Give a link."""
    return PcieLink(gigatransfers=speed, lanes_count=lanes)


BEST = DriveLink(
    name="nvme0n1",
    function="0000:02:00.0",
    current=link(16.0, 4),
    drive=link(16.0, 4),
    slot=link(16.0, 4),
    loaded=False,
)


def judge(**changes):
    """Judge the best link with some changes."""
    return storage.link(LinkFacts(links=(replace(BEST, **changes),), others=(), unknown=""), LIMIT)


@pytest.mark.parametrize("slot", [link(16.0, 4), link(32.0, 16), None])
def test_the_drive_at_its_best_passes(slot):
    """Whatever the slot could do more; idle or not."""
    found = judge(slot=slot)
    assert (found.word, found.measured) == (Word.PASS, "nvme0n1 at 16 GT/s x4 (7.9 GB/s)")
    assert found.value == pytest.approx(7.877e9, rel=1e-3)


@pytest.mark.parametrize(
    ("current", "lost", "fix"),
    [
        (link(16.0, 1), "5.9 GB/s are lost", "bifurcation"),
        (link(16.0, 3), "2.0 GB/s are lost", "bifurcation"),
        (link(8.0, 4), "3.9 GB/s are lost", "PCIe speed to Auto"),
        (link(2.5, 1), "7.6 GB/s are lost", "PCIe speed to Auto"),
    ],
)
def test_a_link_that_stays_low_under_load_fails_with_what_is_lost(current, lost, fix):
    """Lanes and speed have different remedies, and both have lspci."""
    found = judge(current=current, loaded=True)
    assert (found.word, lost in found.cause) == (Word.FAIL, True), found.cause
    assert found.fix[0] == "sudo lspci -vv -s 0000:02:00.0 | grep -E 'LnkCap:|LnkSta:'"
    assert any(fix in line for line in found.fix)
    assert (current.lanes_count < 4) == any("bifurcation" in line for line in found.fix)


def test_a_low_link_of_an_idle_drive_is_unknown():
    """Links are slowed down to save power."""
    found = judge(current=link(2.5, 4))
    assert (found.word, "it was idle" in found.cause) == (Word.ERROR, True)


@pytest.mark.parametrize("loaded", [True, False])
def test_a_slot_that_is_less_than_the_drive_is_advice(loaded):
    """A new drive in an older machine is no fault, and what is lost is said."""
    found = judge(current=link(8.0, 4), slot=link(8.0, 16), loaded=loaded)
    assert found.word is Word.ADVICE
    assert found.cause.endswith("its slot carries 8 GT/s x4 (3.9 GB/s): 3.9 GB/s are lost")


def test_a_low_link_below_a_slot_that_is_not_seen_is_advice():
    """It may be the slot's best, so that it is no FAIL."""
    found = judge(current=link(8.0, 4), slot=None, loaded=True)
    assert (found.word, "the slot, a riser or a failed training" in found.cause) == (Word.ADVICE, True)


@pytest.mark.parametrize("untold", ["current", "drive"])
def test_a_link_that_is_not_told_is_an_error(untold):
    """Old kernels, and virtual machines that write Unknown."""
    assert judge(**{untold: None}).word is Word.ERROR


def test_the_worst_of_several_drives_decides():
    """All are named."""
    low = replace(BEST, name="nvme1n1", function="0000:03:00.0", current=link(16.0, 2), loaded=True)
    found = storage.link(LinkFacts(links=(BEST, low), others=(), unknown=""), LIMIT)
    assert (found.word, found.evidence) == (Word.FAIL, ("0000:02:00.0=idle", "0000:03:00.0=read"))
    assert found.measured == "nvme0n1 at 16 GT/s x4 (7.9 GB/s); nvme1n1 at 16 GT/s x2 (3.9 GB/s)"


def test_disks_without_a_link_do_not_apply_and_unknown_ones_are_unknown():
    """With the reason."""
    found = storage.link(LinkFacts(links=(), others=("vda (virtio)",), unknown=""), LIMIT)
    assert (found.word, found.cause) == (
        Word.NOT_APPLICABLE,
        "no drive with a PCIe link of its own: vda (virtio)",
    )
    assert storage.link(LinkFacts(links=(), others=(), unknown="layers outside"), LIMIT).word is Word.ERROR


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("laptop-nvme", Word.PASS),
        ("laptop-narrow-link", Word.FAIL),
        ("server-md-raid", Word.PASS),
        ("board-aarch64", Word.ADVICE),
        ("vm-virtio", Word.NOT_APPLICABLE),
        ("laptop-asahi", Word.NOT_APPLICABLE),
        ("docker-model-in-image", Word.ERROR),
    ],
)
def test_a_captured_machine_gets_its_word(name, word):
    """The board's slot is PCIe 3.0 and its drive 4.0."""
    assert storage.link(Machine(captured(name)).links, LIMIT).word is word


@pytest.mark.parametrize(("loaded", "word"), [(False, Word.ERROR), (True, Word.FAIL)])
def test_a_narrow_link_of_a_captured_machine_fails_only_where_it_was_read_under_load(tmp_path, loaded, word):
    """LnkSta 2.5 GT/s x1 below LnkCap 16 GT/s x4."""
    toml = captured("laptop-nvme").root.joinpath("machine.toml").read_text(encoding="utf-8")
    port = DRIVE.rpartition("/")[0]
    low = {f"{DRIVE}/current_link_speed": "2.5 GT/s PCIe\n", f"{DRIVE}/current_link_width": "1\n"}
    slot = {f"{port}/max_link_speed": "16.0 GT/s PCIe\n", f"{port}/max_link_width": "4\n"}
    root = changed(tmp_path, "laptop-nvme", low | slot | ({"machine.toml": toml + ANSWER} if loaded else {}))
    assert storage.link(Machine(root).links, LIMIT).word is word
