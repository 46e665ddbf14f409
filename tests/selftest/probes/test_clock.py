"""The CPUs' clock while something runs, and how often heat slowed them."""

from __future__ import annotations

import pytest

from streamworthy.probes.clock import Clocks, count_throttling
from tests.selftest.probes.trees import tree

CPUS = "sys/devices/system/cpu"


def policies(*shown):
    """Give the files of clock policies: kHz now, kHz at most and the CPUs that share them."""
    found = {}
    for number, (now, most, cpus) in enumerate(shown):
        folder = f"{CPUS}/cpufreq/policy{number}"
        found |= {
            f"{folder}/scaling_cur_freq": f"{now}\n",
            f"{folder}/cpuinfo_max_freq": f"{most}\n",
            f"{folder}/affected_cpus": f"{cpus}\n",
        }
    return found


@pytest.mark.parametrize(("cpus", "share"), [(0, 0.9), (1, 0.9), (2, 0.85), (3, 0.7), (4, 0.575), (99, 0.575)])
def test_only_as_many_cpus_as_the_engine_uses_count(tmp_path, cpus, share):
    """The fastest of them: the others idle at a low clock. Each over its own most, as cores are of two kinds."""
    fast, slow = [(3600000, 4000000, "0"), (800000, 4000000, "1")], [(1600000, 2000000, "2"), (800000, 2000000, "3")]
    root = tree(tmp_path, files=policies(*fast, *slow))
    assert Clocks(root).share(cpus) == pytest.approx(share)


def test_cpus_that_share_a_clock_count_each(tmp_path):
    """Clusters of Arm boards have one policy for several cores."""
    root = tree(tmp_path, files=policies((2000000, 2000000, "0 1"), (500000, 1000000, "2 3 4 5")))
    assert Clocks(root).share(4) == pytest.approx(0.75)


@pytest.mark.parametrize(
    "shown", [("<unknown>", 4000000, "0"), ("", 4000000, "0"), (3600000, 0, "0"), (3600000, "", "0")]
)
def test_a_clock_that_is_not_told_is_none(tmp_path, shown):
    """Neither is a virtual machine's, which has no folder for it."""
    assert Clocks(tree(tmp_path / "a", files=policies(shown))).share(1) is None
    assert Clocks(tree(tmp_path / "b")).share(1) is None


def test_a_reading_is_of_its_own_moment(tmp_path):
    """The file is kept open and read again; closed, it tells nothing."""
    root = tree(tmp_path, files=policies((3600000, 4000000, "0")))
    clocks = Clocks(root)
    assert clocks.share(1) == 0.9
    (tmp_path / f"{CPUS}/cpufreq/policy0/scaling_cur_freq").write_text("1000000\n")
    assert clocks.share(1) == 0.25
    clocks.close()
    assert clocks.share(1) is None


def test_slowing_for_heat_is_counted_over_all_cpus(tmp_path):
    """None where nothing is counted, which is not the same as never."""
    counts = {"cpu0": "3", "cpu1": "0", "cpufreq": "9", "cpu2": "x"}
    files = {f"{CPUS}/{cpu}/thermal_throttle/core_throttle_count": f"{count}\n" for cpu, count in counts.items()}
    assert count_throttling(tree(tmp_path / "a", files=files)) == 3
    assert count_throttling(tree(tmp_path / "b", files={f"{CPUS}/cpu0/online": "1\n"})) is None
