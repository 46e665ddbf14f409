"""What chooses the clock, from small captured machines."""

from __future__ import annotations

import pytest

from streamworthy.errors import ProbeError
from streamworthy.facts.conditions import GovernorFacts
from streamworthy.probes.frequency import probe_governor
from tests.selftest.probes.trees import tree

CPU = "sys/devices/system/cpu"
STATUS = "CapEff:\t0\nCpus_allowed_list:\t0-1\n"
INTEL = {
    "proc/self/status": STATUS,
    f"{CPU}/online": "0-3\n",
    f"{CPU}/intel_pstate/status": "active\n",
} | {
    f"{CPU}/cpu{index}/cpufreq/{name}": f"{text}\n"
    for index in range(4)
    for name, text in {
        "scaling_driver": "intel_pstate",
        "scaling_governor": "powersave",
        "energy_performance_preference": "balance_performance",
    }.items()
}
FACTS = GovernorFacts(
    drivers=("intel_pstate",),
    active=True,
    governors=("powersave",),
    preferences=("balance_performance",),
    highest_share=None,
    on_battery=None,
)


def supply(name, **keys):
    """Give the files of one power supply."""
    return {f"sys/class/power_supply/{name}/{key}": f"{text}\n" for key, text in keys.items()}


def test_a_processor_that_chooses_its_own_clock(tmp_path):
    """Whole record."""
    assert probe_governor(tree(tmp_path, files=INTEL)) == FACTS


def test_only_cpus_within_affinity_count(tmp_path):
    """The third and fourth are not ours, and an offline one has no clock."""
    other = {f"{CPU}/cpu3/cpufreq/scaling_governor": "performance\n"}
    assert probe_governor(tree(tmp_path / "a", files=INTEL | other)).governors == ("powersave",)
    second = {f"{CPU}/cpu1/cpufreq/scaling_governor": "performance\n"}
    assert probe_governor(tree(tmp_path / "b", files=INTEL | second)).governors == ("performance", "powersave")
    alone = second | {f"{CPU}/online": "0\n"}
    assert probe_governor(tree(tmp_path / "c", files=INTEL | alone)).governors == ("powersave",)


@pytest.mark.parametrize(
    ("driver", "status", "active"),
    [
        ("intel_pstate", {f"{CPU}/intel_pstate/status": "passive\n"}, False),
        ("intel_cpufreq", {}, False),
        ("amd-pstate-epp", {}, True),
        ("amd-pstate", {f"{CPU}/amd_pstate/status": "active\n"}, True),
        ("amd-pstate", {f"{CPU}/amd_pstate/status": "guided\n"}, False),
        ("acpi-cpufreq", {}, False),
    ],
)
def test_the_drivers_mode_says_who_chooses(tmp_path, driver, status, active):
    """The governor's word means another thing in each."""
    drivers = {f"{CPU}/cpu{index}/cpufreq/scaling_driver": f"{driver}\n" for index in range(2)}
    assert probe_governor(tree(tmp_path, files=INTEL | drivers | status)).active is active


def test_a_machine_without_cpufreq_tells_nothing(tmp_path):
    """A virtual machine, as a rule."""
    assert probe_governor(tree(tmp_path, files={"proc/self/status": STATUS})) == GovernorFacts(
        drivers=(), active=False, governors=(), preferences=(), highest_share=None, on_battery=None
    )


def test_without_affinity_nothing_is_known(tmp_path):
    """No status, no CPUs."""
    with pytest.raises(ProbeError, match="/proc/self/status"):
        probe_governor(tree(tmp_path))


@pytest.mark.parametrize(
    ("supplies", "on_battery"),
    [
        (supply("AC", type="Mains", online=1) | supply("BAT0", type="Battery", status="Charging"), False),
        (supply("AC", type="Mains", online=0) | supply("BAT0", type="Battery", status="Discharging"), True),
        (supply("BAT0", type="Battery", status="Discharging"), True),
        (supply("BAT0", type="Battery", status="Full"), False),
        (supply("USBC0", type="USB", online=1) | supply("BAT0", type="Battery", status="Discharging"), False),
        (supply("mouse", type="Battery", scope="Device", status="Discharging"), None),
        (supply("AC", type="Mains", online=1), None),
        (supply("AC", type="Mains", online=0) | supply("BAT0", type="Battery", status="Unknown"), True),
        (supply("AC", type="Mains", online=0) | supply("BAT0", type="Battery", status="Not charging"), True),
        (supply("AC", type="Mains", online=0) | supply("BAT0", type="Battery", status="Charging"), False),
        (supply("AC", type="Mains", online=1) | supply("BAT0", type="Battery", status="Discharging"), False),
        (
            supply("BAT0", type="Battery", status="Full") | supply("BAT1", type="Battery", status="Discharging"),
            True,
        ),
        (supply("BAT0", type="Battery", status="Discharging", present=0), None),
        (
            supply("ucsi-source-psy-USBC000:001", type="USB", scope="System", online=2)
            | supply("ucsi-source-psy-USBC000:002", type="USB", scope="Unknown", online=0)
            | supply("BAT0", type="Battery", status="Discharging"),
            False,
        ),
        (
            supply("AC", type="Mains", online=0)
            | supply("wacom_ac_0", type="USB", scope="Device", online=1)
            | supply("wacom_battery_0", type="Battery", scope="Device", status="Charging")
            | supply("BAT0", type="Battery", scope="System", status="Discharging"),
            True,
        ),
        (supply("usb", type="USB_PD", online=1) | supply("battery", type="Battery", status="Discharging"), False),
        (supply("ups", type="UPS", status="Discharging") | supply("AC", type="Mains", online=1), None),
    ],
)
def test_a_battery_feeds_the_machine_or_does_not(tmp_path, supplies, on_battery):
    """Mains that are plugged in win; a mouse's battery is its own."""
    assert probe_governor(tree(tmp_path, files=INTEL | supplies)).on_battery is on_battery


def test_a_battery_that_was_taken_out_is_none(tmp_path):
    """Its files answer ENODEV, and what is left tells."""
    refused = '[[unreadable]]\npath = "sys/class/power_supply/BAT1/status"\nreason = "No such device"\n'
    files = supply("AC", type="Mains", online=1) | supply("BAT1", type="Battery", status="")
    assert probe_governor(tree(tmp_path, files=INTEL | files, answers=refused)).on_battery is False


@pytest.mark.parametrize(
    ("changes", "share"),
    [
        ({f"{CPU}/cpu1/cpufreq/scaling_max_freq": "1200000\n"}, 0.3),
        ({f"{CPU}/cpu1/cpufreq/scaling_max_freq": "<unknown>\n"}, 1.0),
        ({f"{CPU}/cpu3/cpufreq/scaling_max_freq": "800000\n"}, 1.0),
        ({f"{CPU}/intel_pstate/max_perf_pct": "40\n"}, 0.4),
        ({f"{CPU}/intel_pstate/max_perf_pct": "100\n"}, 1.0),
    ],
)
def test_the_highest_clock_may_be_held_down(tmp_path, changes, share):
    """Of the CPU that is held lowest, within affinity."""
    clocks = {
        f"{CPU}/cpu{index}/cpufreq/{name}": "4000000\n"
        for index in range(4)
        for name in ("scaling_max_freq", "cpuinfo_max_freq")
    }
    assert probe_governor(tree(tmp_path, files=INTEL | clocks | changes)).highest_share == share
