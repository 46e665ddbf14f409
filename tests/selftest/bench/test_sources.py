"""Readings of a machine of files."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.bench.readings import Census, DiskStat, EngineUse, Reading
from streamworthy.bench.sources import Sources
from tests.selftest.bench.test_cpu_load import FILES as PROCESSES
from tests.selftest.bench.test_cpu_load import line
from tests.selftest.bench.test_readings import STAT
from tests.selftest.probes.test_clock import policies
from tests.selftest.probes.trees import tree

PSI = "some avg10=0.00 avg60=0.00 avg300=0.00 total={some}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total={full}\n"
FILES = {
    **PROCESSES,
    **policies((3000000, 4000000, "0")),
    "proc/pressure/io": PSI.format(some=9000000, full=2500000),
    "proc/pressure/memory": PSI.format(some=1000000, full=500000),
    "proc/pressure/cpu": PSI.format(some=4000000, full=0),
    "sys/class/block/nvme0n1/stat": STAT,
    "sys/class/block/cciss!c0d0/stat": STAT,
    "proc/vmstat": "workingset_refault_file 7\npswpin 3\n",
    "proc/42/io": "rchar: 1\nread_bytes: 1024000\n",
    "proc/42/stat": line(42, "python3", faults=5, user=300, system=100),
    "proc/42/status": PROCESSES["proc/42/status"] + "RssAnon:\t  200 kB\nVmSwap:\t   10 kB\n",
    "sys/block/nvme0n1/device/hwmon3/temp1_input": "41850\n",
    "sys/class/hwmon/hwmon1/name": "coretemp\n",
    "sys/class/hwmon/hwmon1/temp1_input": "61000\n",
    "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count": "3\n",
}
DISK = DiskStat(read_bytes=8000 * 512, busy_milliseconds=2500, queue_milliseconds=12000)
NOTHING = Reading(
    moment_seconds=0.0,
    io_some_seconds=None,
    io_full_seconds=None,
    memory_full_seconds=None,
    cpu_some_seconds=None,
    disks=None,
    engine=EngineUse(read_bytes=None, ticks=None, major_faults=None),
    refaulted_pages=None,
    swapped_in_pages=None,
    clock_share=None,
    device_celsius=None,
    cpu_celsius=None,
    census=None,
)
EVERYTHING = replace(
    NOTHING,
    io_some_seconds=9.0,
    io_full_seconds=2.5,
    memory_full_seconds=0.5,
    cpu_some_seconds=4.0,
    disks={"nvme0n1": DISK},
    engine=EngineUse(read_bytes=1_024_000, ticks=400, major_faults=5),
    refaulted_pages=7,
    swapped_in_pages=3,
    clock_share=0.75,
    device_celsius=41.85,
    cpu_celsius=61.0,
)


@pytest.fixture
def open_sources(tmp_path):
    """Make sources of files, closed at the end; with the number of a process they watch it."""
    made = []

    def make(files, devices, pid=None):
        sources = Sources(tree(tmp_path / str(len(made)), files=files), devices, threads=1)
        made.append(sources)
        if pid:
            sources.watch(pid)
        return sources

    yield make
    for sources in made:
        sources.close()


def take(sources, *, clocks=True, heat=True):
    """Take a reading, its moment apart."""
    found = sources.read(clocks=clocks, heat=heat, census=None)
    assert found.moment_seconds > 0
    return replace(found, moment_seconds=0.0)


def test_a_machine_that_tells_everything(open_sources):
    """Whole record; clock and heat only when they are asked for."""
    sources = open_sources(FILES, ["nvme0n1"], 42)
    assert take(sources) == EVERYTHING
    assert take(sources, clocks=False, heat=False) == replace(
        EVERYTHING, clock_share=None, device_celsius=None, cpu_celsius=None
    )


def test_a_machine_that_tells_nothing(open_sources):
    """Nothing is raised, and nothing is zero."""
    sources = open_sources({}, ["nvme0n1"], 42)
    assert take(sources) == NOTHING
    assert sources.count() == Census(
        pid=42, anonymous_bytes=None, swapped_bytes=None, throttle_count=None, allowed_cores=None, cpu=None
    )


@pytest.mark.parametrize("name", sorted(FILES))
def test_one_broken_file_spoils_no_other_number(open_sources, name):
    """What is not what its format says is as if it were not there."""
    sources = open_sources(FILES | {name: "\n"}, ["nvme0n1"], 42)
    found = take(sources)
    changed = [field for field in EVERYTHING.__slots__ if getattr(found, field) != getattr(EVERYTHING, field)]
    assert len(changed) <= (2 if name in {"proc/pressure/io", "proc/vmstat"} else 1)
    assert all(getattr(found, field) is None for field in changed if field != "engine")
    assert sources.count().pid == 42


def test_an_engine_that_has_not_begun_used_nothing(open_sources):
    """So that its first second counts from zero."""
    sources = open_sources(FILES, ["nvme0n1"])
    assert take(sources).engine == EngineUse(read_bytes=0, ticks=0, major_faults=0)
    assert sources.count().pid is None


def test_the_census_is_whole(open_sources):
    """What is read at the ends only."""
    sources = open_sources(FILES, [], 42)
    found = sources.count()
    assert replace(found, cpu=None) == Census(
        pid=42, anonymous_bytes=200 * 1024, swapped_bytes=10 * 1024, throttle_count=3, allowed_cores=2.0, cpu=None
    )
    assert found.cpu.processes[42].ticks == 400


@pytest.mark.parametrize(
    ("devices", "known"),
    [(["nvme0n1"], ["nvme0n1"]), (["cciss/c0d0"], ["cciss/c0d0"]), (["nvme0n1", "sdz"], None), ([], None)],
)
def test_devices_are_known_all_or_not(open_sources, devices, known):
    """A part of the bytes would look like the whole; sysfs writes the slash of a name as an exclamation mark."""
    found = take(open_sources(FILES, devices)).disks
    assert (None if found is None else list(found)) == known


def test_every_file_is_closed_and_reads_as_nothing(open_sources):
    """A second time does nothing."""
    sources = open_sources(FILES, ["nvme0n1"], 42)
    for _ in range(2):
        sources.close()
        assert take(sources) == NOTHING
