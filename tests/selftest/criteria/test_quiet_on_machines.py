"""Captured machines, judged as a tier judges clock, pressure, disks and temperature."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.bench.preconditions import look_at_disks, look_at_pressure, look_at_temperatures
from streamworthy.criteria import cpu, kernel, storage
from streamworthy.probes.machine import Machine
from streamworthy.verdict import Word
from tests.selftest.criteria.asked import limit
from tests.selftest.probes.folder import captured, changed

WORDS = {  # governor, pressure, quiet, temperature
    "laptop-nvme": "pass pass n/a pass",
    "laptop-luks-lvm": "advice pass n/a pass",
    "server-md-raid": "pass pass n/a pass",
    "desktop-sata-hdd": "pass pass n/a error",
    "vm-virtio": "n/a error n/a n/a",
}
BATTERY = {"sys/class/power_supply/AC/online": "0\n", "sys/class/power_supply/BAT0/status": "Discharging\n"}
HWMON = "sys/devices/pci0000:00/0000:00:06.0/0000:02:00.0/nvme/nvme0/hwmon1"


def words(root):
    """Judge a machine."""
    machine = Machine(root)
    pressure = limit(cpu_at_most=0.2, memory_at_most=0.05, io_at_most=0.2)
    found = (
        cpu.governor(machine.governor, limit(accept=("performance", "schedutil", "ondemand"))),
        kernel.pressure(look_at_pressure(machine), pressure),
        storage.quiet(look_at_disks(machine), limit(at_most=0.05)),
        storage.temperature(look_at_temperatures(machine), limit(below_warning_at_least=5.0)),
    )
    return [verdict.word for verdict in found]


@pytest.mark.parametrize("name", WORDS)
def test_a_captured_machine_gets_its_words(name):
    """A laptop, one that saves power, a server with four drives, a disk without a sensor, a guest."""
    assert words(captured(name)) == [Word(word) for word in WORDS[name].split()]


@pytest.mark.parametrize(
    ("files", "place", "word"),
    [
        ({"sys/devices/system/cpu/intel_pstate/status": "passive\n"}, 0, Word.FAIL),
        (BATTERY, 0, Word.INCONCLUSIVE),
        ({"proc/pressure/cpu": "some avg10=55.00 avg60=9.00 avg300=1.00 total=1\n"}, 1, Word.INCONCLUSIVE),
        ({"proc/pressure/io": None}, 1, Word.ERROR),
        ({f"{HWMON}/temp1_input": "79850\n"}, 3, Word.INCONCLUSIVE),
        ({f"{HWMON}/temp1_input": "84850\n"}, 3, Word.FAIL),
        ({f"{HWMON}/temp1_input": None}, 3, Word.ERROR),
    ],
)
def test_one_change_to_a_sound_laptop_gives_one_other_word(tmp_path, files, place, word):
    """The rest stays as it was."""
    sound = [Word(each) for each in WORDS["laptop-nvme"].split()]
    sound[place] = word
    assert words(changed(tmp_path, "laptop-nvme", files)) == sound


def test_every_machine_that_tells_a_clock_tells_it_of_all_its_cpus():
    """Drives of a server are read by each controller's own sensor."""
    facts = Machine(captured("server-md-raid")).temperatures
    assert [drive.celsius for drive in facts.drives] == [34.85, 35.85, 36.85, 37.85]
    assert replace(facts.drives[0], name="x", celsius=36.85) == replace(facts.drives[2], name="x")
