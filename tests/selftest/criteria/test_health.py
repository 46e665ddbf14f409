"""The gate on health: what ends a drive fails, what passes or may end it is advised, what is not told is unknown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.criteria import storage
from streamworthy.facts.drives import ArrayState, DriveHealth, HealthFacts
from streamworthy.probes.health import parse_health_log
from streamworthy.probes.machine import Machine
from streamworthy.verdict import Word, soften
from tests.selftest.criteria.asked import limit
from tests.selftest.probes.folder import captured, changed
from tests.selftest.probes.health_log import health_log

LIMIT = limit("storage.health", advised_at_most=0.9)
NONE = HealthFacts(drives=(), arrays=(), others=(), unknown="")


def judge(**log):
    """Judge one drive by its log's bytes."""
    drive = DriveHealth(name="nvme0n1", log=parse_health_log(health_log(**log)), unknown="")
    return storage.health(replace(NONE, drives=(drive,)), LIMIT)


def test_a_healthy_drive_passes():
    """With what it says."""
    found = judge()
    assert (found.word, found.value) == (Word.PASS, 0.0)
    assert found.measured == "nvme0n1: spare 100.0 % (warns below 10.0 %), 0.0 % used, 0 media errors"


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        ({"warning": 1, "spare": 4}, "its spare blocks are used up"),
        ({"spare": 9}, "its spare blocks are used up"),
        ({"warning": 4}, "its reliability is degraded"),
        ({"warning": 8}, "read-only mode"),
        ({"warning": 9, "used": 130}, "read-only mode"),
    ],
)
def test_a_drive_at_its_end_fails(log, cause):
    """The remedy is another drive."""
    found = judge(**log)
    assert (found.word, cause in found.cause) == (Word.FAIL, True), found.cause
    assert found.fix[0] == "sudo nvme smart-log /dev/nvme0n1"
    assert "copy the shards to another drive" in found.fix[1]


def test_spare_at_its_threshold_passes():
    """Below it the drive warns, not at it."""
    assert judge(spare=10).word is Word.PASS


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        ({"warning": 2}, "hotter or colder than it may be"),
        ({"warning": 16}, "backup of volatile memory"),
        ({"warning": 32}, "persistent memory region"),
        ({"media_errors": 2}, "2 times it could not give back what was stored"),
        ({"used": 91}, "91.0 % of the writes that it is rated for are done"),
    ],
)
def test_what_passes_or_may_end_it_is_advised(log, cause):
    """Reading goes on."""
    found = judge(**log)
    assert (found.word, cause in found.cause) == (Word.ADVICE, True), found.cause


@pytest.mark.parametrize(("used", "word"), [(89, Word.PASS), (90, Word.PASS), (91, Word.ADVICE)])
def test_wear_is_judged_at_its_limit(used, word):
    """In whole percent, as drives tell it."""
    assert judge(used=used).word is word


def test_without_rights_it_is_advice_that_says_what_to_run():
    """Unknown is advice in every tier: asking needs root."""
    refused = DriveHealth(name="nvme0n1", log=None, unknown="/dev/nvme0n1: Permission denied")
    found = storage.health(replace(NONE, drives=(refused,)), LIMIT)
    assert (found.word, found.cause) == (
        Word.ERROR,
        "the health of nvme0n1 is not known: /dev/nvme0n1: Permission denied",
    )
    assert found.fix == ("sudo nvme smart-log /dev/nvme0n1", "sudo smartctl -a /dev/nvme0n1")
    assert soften(found, level="require", unknown="advise").word is Word.ADVICE


def test_other_disks_do_not_apply_and_unknown_ones_are_unknown():
    """With their names, or the reason."""
    found = storage.health(replace(NONE, others=("vda (virtio)",)), LIMIT)
    assert (found.word, "vda (virtio)" in found.cause) == (Word.NOT_APPLICABLE, True)
    assert storage.health(replace(NONE, unknown="layers outside"), LIMIT).word is Word.ERROR


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        ("", Word.ERROR),
        ("spare_share = 1.0\ncritical_warning = 0\n", Word.PASS),
        ("spare_share = 0.03\ncritical_warning = 1\n", Word.FAIL),
    ],
)
def test_a_captured_machine_is_judged_by_what_its_drive_said(tmp_path, answer, word):
    """Passes, fails and is unknown without an answer."""
    toml = captured("laptop-nvme").root.joinpath("machine.toml").read_text(encoding="utf-8")
    rest = "spare_threshold_share = 0.1\nused_share = 0.2\nmedia_errors_count = 0\n"
    table = f'\n[[health]]\ndisk = "nvme0n1"\n{answer}{rest}' if answer else ""
    root = changed(tmp_path, "laptop-nvme", {"machine.toml": toml + table})
    assert storage.health(Machine(root).health, LIMIT).word is word


@pytest.mark.parametrize(
    ("lacking", "action", "word", "measured", "cause"),
    [
        (0, "idle", Word.PASS, "md0 (raid5): whole", ""),
        (0, "", Word.PASS, "md0 (raid5): whole", ""),
        (1, "idle", Word.ADVICE, "md0 (raid5): lacks 1 of its drives", "may be gone with the next one"),
        (0, "check", Word.ADVICE, "md0 (raid5): is in a check, which reads its drives meanwhile", "is in a check"),
        (1, "recover", Word.ADVICE, "md0 (raid5): lacks 1 of its drives", "and is in a recover"),
    ],
)
def test_an_array_without_a_member_is_advised_on(lacking, action, word, measured, cause):
    """It answers, more slowly, and the shards can be downloaded again."""
    array = ArrayState(name="md0", level="raid5", lacking_count=lacking, action=action)
    found = storage.health(replace(NONE, arrays=(array,)), LIMIT)
    assert (found.word, found.measured, cause in found.cause) == (word, measured, True), found.cause
    assert any("mdadm --detail /dev/md0" in line for line in found.fix) == (word is Word.ADVICE)


def test_a_real_array_that_lacks_a_drive_is_seen():
    """As a kernel told it."""
    found = storage.health(Machine(captured("vm-raid5-degraded")).health, LIMIT)
    assert (found.word, found.measured) == (Word.ADVICE, "md0 (raid5): lacks 1 of its drives")
