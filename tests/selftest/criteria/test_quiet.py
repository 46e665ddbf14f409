"""Whether a machine is quiet and cool enough to be measured."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.criteria import cpu, kernel, storage
from streamworthy.facts.conditions import ActivityFacts, DiskActivity, TemperatureFacts
from streamworthy.verdict import Word, verdict
from tests.selftest.criteria.asked import limit
from tests.selftest.probes.test_frequency import FACTS as GOVERNOR
from tests.selftest.probes.test_pressure import FACTS as PRESSURE
from tests.selftest.probes.test_temperature import DRIVE

ACCEPT = limit(accept=("performance", "schedutil"))
CALM = limit(cpu_at_most=0.125, memory_at_most=0.05, io_at_most=0.2)
QUIET = limit(at_most=0.05)
COOL = limit(below_warning_at_least=5.0)
DISK = DiskActivity(name="nvme0n1", busy_share=0.02, read_bytes_per_second=0.0, written_bytes_per_second=2e5)
ACTIVITY = ActivityFacts(disks=(DISK,), users=(), unseen="")


def advised(asked):
    """Make a limit an advised one."""
    return replace(asked, level="advise")


def test_a_processor_that_chooses_itself_is_balanced():
    """Whole verdict: powersave is no fault there."""
    assert cpu.governor(GOVERNOR, ACCEPT) == verdict(
        Word.PASS,
        measured="powersave (intel_pstate active)",
        required="one of performance, schedutil, or a processor that chooses itself",
        evidence=("preference=balance_performance", "highest_clock=not told", "on_battery=no battery"),
    )


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"active": False}, Word.FAIL),
        ({"active": False, "governors": ("performance",)}, Word.PASS),
        ({"active": False, "governors": ("performance", "schedutil")}, Word.PASS),
        ({"active": False, "governors": ("performance", "powersave")}, Word.FAIL),
        ({"active": False, "governors": ("conservative",)}, Word.FAIL),
        ({"preferences": ("power",)}, Word.ADVICE),
        ({"preferences": ("balance_power",)}, Word.PASS),
        ({"on_battery": True}, Word.INCONCLUSIVE),
        ({"on_battery": False}, Word.PASS),
        ({"on_battery": True, "active": False}, Word.INCONCLUSIVE),
        ({"on_battery": True, "drivers": (), "governors": ()}, Word.INCONCLUSIVE),
        ({"highest_share": 0.49}, Word.FAIL),
        ({"highest_share": 0.5}, Word.ADVICE),
        ({"highest_share": 0.94}, Word.ADVICE),
        ({"highest_share": 0.95}, Word.PASS),
        ({"drivers": (), "governors": ()}, Word.NOT_APPLICABLE),
        ({"governors": ()}, Word.ERROR),
    ],
)
def test_governor_battery_and_preference(changes, word):
    """What holds the clock down fails; what only may leaves it open or is advice."""
    found = cpu.governor(replace(GOVERNOR, **changes), ACCEPT)
    assert found.word is word
    assert bool(found.cause) is (word is not Word.PASS)


def test_the_battery_is_the_cause_of_a_clock_that_is_held_down():
    """Power managers choose another governor on battery: plugging in mends it, and their own remedy would not."""
    found = cpu.governor(replace(GOVERNOR, active=False, on_battery=True), ACCEPT)
    assert (found.cause, found.fix) == ("the machine runs on battery, where its clock is limited", ("plug it in",))


def test_a_capped_clock_names_the_cap():
    """The governor is right, so its remedy is not given."""
    found = cpu.governor(replace(GOVERNOR, highest_share=0.3), ACCEPT)
    assert found.cause == "the clock may rise to 30.0 % of the processor's highest and no further"
    assert "scaling_max_freq" in found.fix[0]


def test_on_battery_an_advised_limit_is_advice():
    """The sample may run anywhere."""
    assert cpu.governor(replace(GOVERNOR, on_battery=True), advised(ACCEPT)).word is Word.ADVICE


def test_a_calm_machine_passes():
    """Whole verdict, with a share exactly at its limit."""
    assert kernel.pressure(PRESSURE, CALM) == verdict(
        Word.PASS,
        measured="cpu 12.5 %, memory 0.0 %, io 3.2 %",
        required="at most cpu 12.5 %, memory 5.0 %, io 20.0 %",
        value=0.125,
        unit="share",
        evidence=("load_average=1.57",),
    )


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"cpu_share": 0.126}, "something waits for cpu"),
        ({"cpu_share": 0.5, "busiest": ("cc1 (pid 7), 0.9 of a core",)}, "waits for cpu: cc1 (pid 7), 0.9 of a core"),
        ({"memory_share": 0.051}, "something waits for memory"),
        ({"io_share": 0.21, "memory_share": 0.9}, "something waits for memory and io"),
    ],
)
def test_pressure_above_a_limit_leaves_numbers_open(changes, cause):
    """It is no fault of the machine; advised, it is advice."""
    found = kernel.pressure(replace(PRESSURE, **changes), CALM)
    assert found.word is Word.INCONCLUSIVE
    assert cause in found.cause
    assert found.fix
    assert kernel.pressure(replace(PRESSURE, **changes), advised(CALM)).word is Word.ADVICE


def test_a_kernel_without_pressure_is_unknown():
    """The load average is told instead of nothing."""
    found = kernel.pressure(replace(PRESSURE, memory_share=None, io_share=None), CALM)
    assert found.word is Word.ERROR
    assert found.cause == "this kernel tells no pressure of memory, io (PSI); its load average is 1.57"


@pytest.mark.parametrize(("busy", "word"), [(0.051, Word.INCONCLUSIVE), (0.05, Word.PASS), (0.049, Word.PASS)])
def test_a_disk_is_quiet_up_to_the_limit(busy, word):
    """Inclusive; the busiest disk decides."""
    disks = (replace(DISK, name="sda", busy_share=0.0), replace(DISK, busy_share=busy))
    found = storage.quiet(replace(ACTIVITY, disks=disks), QUIET)
    assert (found.word, found.measured, found.value) == (word, f"nvme0n1 {busy * 100:.1f} % busy", busy)


@pytest.mark.parametrize(
    ("users", "who"), [(("cp (pid 9), 120.0 MB/s",), "cp (pid 9), 120.0 MB/s"), ((), "cannot be looked into")]
)
def test_who_uses_the_disk_is_named(users, who):
    """Or said to be unseen; advised, it is advice."""
    busy = ActivityFacts(disks=(replace(DISK, busy_share=0.8),), users=users, unseen="")
    assert who in storage.quiet(busy, QUIET).cause
    assert storage.quiet(busy, advised(QUIET)).word is Word.ADVICE


def test_disks_that_cannot_be_watched_do_not_apply():
    """The reason is kept."""
    found = storage.quiet(ActivityFacts(disks=(), users=(), unseen="captured"), QUIET)
    assert (found.word, found.cause) == (Word.NOT_APPLICABLE, "captured")


@pytest.mark.parametrize(
    ("celsius", "word"),
    [
        (41.85, Word.PASS),
        (76.85, Word.PASS),
        (76.9, Word.INCONCLUSIVE),
        (84.8, Word.INCONCLUSIVE),
        (84.85, Word.FAIL),
        (90.0, Word.FAIL),
    ],
)
def test_a_drive_is_judged_by_its_own_limits(celsius, word):
    """It warns at 81.85 and is critical at 84.85 C; 5 K are asked for."""
    found = storage.temperature(TemperatureFacts(drives=(replace(DRIVE, celsius=celsius),)), COOL)
    assert (found.word, found.value, found.unit) == (word, celsius, "celsius")
    assert bool(found.cause and found.fix) is (word is not Word.PASS)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"celsius": None}, Word.ERROR),
        ({"celsius": None, "virtual": True}, Word.NOT_APPLICABLE),
        ({"warning_celsius": None, "critical_celsius": None}, Word.ERROR),
        ({"warning_celsius": None, "celsius": 79.0}, Word.PASS),
        ({"warning_celsius": None, "celsius": 80.0}, Word.INCONCLUSIVE),
    ],
)
def test_what_a_drive_does_not_tell(changes, word):
    """A virtual disk has none, another one is unknown; the critical limit stands in for a missing warning."""
    assert storage.temperature(TemperatureFacts(drives=(replace(DRIVE, **changes),)), COOL).word is word


def test_without_a_drive_there_is_no_temperature():
    """The reason is not that no model is there."""
    found = storage.temperature(TemperatureFacts(drives=()), COOL)
    assert (found.word, found.cause) == (Word.NOT_APPLICABLE, "no drive of this machine lies below the shards")


def test_of_several_drives_the_worst_decides_and_all_are_named():
    """A hot one beside a cool one."""
    drives = (DRIVE, replace(DRIVE, name="nvme1n1", celsius=80.0))
    found = storage.temperature(TemperatureFacts(drives=drives), COOL)
    assert (found.word, found.measured) == (Word.INCONCLUSIVE, "nvme0n1 42 C of 82 C; nvme1n1 80 C of 82 C")
    assert storage.temperature(TemperatureFacts(drives=drives), advised(COOL)).word is Word.ADVICE


@pytest.mark.parametrize(("name", "line"), [("nvme1n1", "nvme smart-log /dev/nvme1n1"), ("sdb", "modprobe drivetemp")])
def test_a_drive_without_a_sensor_is_asked_by_its_own_name(name, line):
    """The first drive of the machine may be another one."""
    drive = replace(DRIVE, name=name, celsius=None)
    (fix,) = storage.temperature(TemperatureFacts(drives=(drive,)), COOL).fix
    assert line in fix
