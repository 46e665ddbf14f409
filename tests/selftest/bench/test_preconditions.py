"""Waiting for a quiet machine, within bounds."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from streamworthy.bench import preconditions
from streamworthy.bench.preconditions import look_at_disks, look_at_pressure, look_at_temperatures, wait_until
from streamworthy.probes.machine import Machine
from streamworthy.probes.sysroot import Sysroot
from tests.selftest.probes.folder import captured, changed
from tests.selftest.probes.test_pressure import FACTS, FILES
from tests.selftest.probes.trees import tree


def test_what_is_sound_is_not_waited_for():
    """One look."""
    looks = iter([1])
    assert wait_until(lambda: next(looks), lambda found: found == 1, patience_seconds=60.0) == 1


def test_a_disturber_that_ends_is_waited_for():
    """The first sound look is given."""
    looks = iter([3, 2, 1, 0])
    assert wait_until(lambda: next(looks), lambda found: found <= 1, patience_seconds=60.0, pause_seconds=0.001) == 1


@pytest.mark.parametrize(("patience", "count"), [(0.0, 1), (0.05, 2)])
def test_patience_ends(patience, count):
    """The last look is given, sound or not; without patience there is one."""
    looks = []
    found = wait_until(
        lambda: looks.append(0) or len(looks), lambda _: False, patience_seconds=patience, pause_seconds=0.03
    )
    assert found == len(looks) == count


def test_a_captured_machines_pressure_is_read_anew_and_nobody_is_looked_for(tmp_path):
    """The fact that was kept is replaced."""
    machine = Machine(tree(tmp_path, files=FILES))
    machine.learn("pressure", replace(FACTS, cpu_share=0.9))
    assert look_at_pressure(machine) == machine.pressure == FACTS


def test_a_captured_machines_disks_are_kept_as_not_seen():
    """It is a fact of the run too."""
    machine = Machine(captured("laptop-nvme"))
    assert look_at_disks(machine).unseen
    assert vars(machine)["activity"].unseen


def test_temperatures_are_read_anew(tmp_path):
    """A second look sees what has changed."""
    root = changed(tmp_path, "laptop-nvme", {})
    machine = Machine(root)
    before = look_at_temperatures(machine).drives[0].celsius
    root.path("sys/block/nvme0n1/device/hwmon1/temp1_input").write_text("79850\n")
    assert (before, look_at_temperatures(machine).drives[0].celsius) == (38.85, 79.85)


@pytest.mark.skipif(sys.platform != "linux", reason="asks this kernel; only Linux has /proc")
def test_who_computes_is_looked_for_only_under_pressure(monkeypatch):
    """A calm machine is not searched; names are those of this machine's processes."""
    monkeypatch.setattr(preconditions, "_busiest", lambda: ("cc1 (pid 7), 0.90 of a core",))
    machine = Machine(Sysroot())
    found = look_at_pressure(machine)
    assert bool(found.busiest) is ((found.cpu_share or 0.0) > 0.05)
    assert machine.pressure == found
