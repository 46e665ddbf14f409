"""From readings to what happened between them."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from streamworthy.bench.counting import counters_between
from streamworthy.bench.cpu_load import CpuSnapshot, ProcessTime
from streamworthy.bench.readings import Census, DiskStat, EngineUse, Reading
from streamworthy.facts.counters import Counters
from streamworthy.facts.cpu_load import CpuLoad

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
OTHER = ProcessTime(name="cc1", ticks=0, major_faults=0, kernel=False)
KSWAPD = ProcessTime(name="kswapd0", ticks=10, major_faults=0, kernel=True)
FIRST = Reading(
    moment_seconds=100.0,
    io_some_seconds=5.0,
    io_full_seconds=4.0,
    memory_full_seconds=1.0,
    cpu_some_seconds=7.0,
    disks={
        "nvme0n1": DiskStat(read_bytes=1000, busy_milliseconds=100, queue_milliseconds=500),
        "nvme1n1": DiskStat(read_bytes=2000, busy_milliseconds=100, queue_milliseconds=500),
    },
    engine=EngineUse(read_bytes=0, ticks=0, major_faults=0),
    refaulted_pages=10,
    swapped_in_pages=3,
    clock_share=None,
    device_celsius=40.0,
    cpu_celsius=60.0,
    census=Census(
        pid=None,
        anonymous_bytes=None,
        swapped_bytes=None,
        throttle_count=2,
        allowed_cores=None,
        cpu=CpuSnapshot(
            moment_seconds=99.0,
            busy_ticks=1000,
            steal_ticks=0,
            processes={7: OTHER, 9: KSWAPD},
            waits={},
        ),
    ),
)
TICK = replace(FIRST, moment_seconds=101.0, clock_share=0.8, device_celsius=45.0, cpu_celsius=None, census=None)
LAST = Reading(
    moment_seconds=104.0,
    io_some_seconds=8.0,
    io_full_seconds=6.0,
    memory_full_seconds=1.0,
    cpu_some_seconds=8.0,
    disks={
        "nvme0n1": DiskStat(read_bytes=5000, busy_milliseconds=1100, queue_milliseconds=4500),
        "nvme1n1": DiskStat(read_bytes=3000, busy_milliseconds=2100, queue_milliseconds=8500),
    },
    engine=EngineUse(read_bytes=4096, ticks=6 * TICKS, major_faults=12),
    refaulted_pages=14,
    swapped_in_pages=3,
    clock_share=None,
    device_celsius=44.0,
    cpu_celsius=59.0,
    census=Census(
        pid=42,
        anonymous_bytes=300,
        swapped_bytes=0,
        throttle_count=5,
        allowed_cores=2.0,
        cpu=CpuSnapshot(
            moment_seconds=104.0,
            busy_ticks=1000 + 10 * TICKS,
            steal_ticks=0,
            processes={
                7: replace(OTHER, ticks=2 * TICKS),
                9: replace(KSWAPD, ticks=10 + TICKS),
                42: ProcessTime(name="python3", ticks=6 * TICKS, major_faults=12, kernel=False),
            },
            waits={"42": 2_500_000_000},
        ),
    ),
)
COUNTED = Counters(
    seconds=4.0,
    ticks_count=4,
    io_some_share=0.75,
    io_full_share=0.5,
    memory_full_share=0.0,
    cpu_some_share=0.25,
    device_bytes=5000,
    device_busy_share=0.5,
    device_queue_depth=3.0,
    engine_bytes=4096,
    engine_cores=1.5,
    major_faults=12,
    anonymous_bytes=300,
    swapped_bytes=0,
    refaulted_bytes=4 * PAGE,
    swapped_in_bytes=0,
    kswapd_cores=0.2,
    device_celsius=45.0,
    cpu_celsius=60.0,
    clock_share=0.6,
    throttle_count=3,
    cpu=CpuLoad(
        others_cores=0.6,
        steal_cores=0.0,
        wait_share=0.5,
        allowed_cores=2.0,
        threads_count=2,
        busiest=("cc1 (pid 7), 0.40 of a core",),
    ),
)
# field of Reading -> fields of Counters that come from nothing else
NEEDED = {
    "io_some_seconds": ["io_some_share"],
    "io_full_seconds": ["io_full_share"],
    "memory_full_seconds": ["memory_full_share"],
    "cpu_some_seconds": ["cpu_some_share"],
    "disks": ["device_bytes", "device_busy_share", "device_queue_depth"],
    "refaulted_pages": ["refaulted_bytes"],
    "swapped_in_pages": ["swapped_in_bytes"],
}


def count(first, *rest):
    """Count between readings, for an engine of two threads."""
    return counters_between((first, *rest), threads=2)


def test_differences_shares_and_extremes():
    """Whole record: four seconds, two disks, an engine that began in between, and another process."""
    assert count(FIRST, TICK, replace(TICK, clock_share=0.6, device_celsius=None), LAST) == COUNTED


@pytest.mark.parametrize("field", NEEDED)
@pytest.mark.parametrize("end", ["first", "last"])
def test_what_one_end_does_not_tell_is_none(field, end):
    """Nothing else is touched by it."""
    first, last = (replace(each, **{field: None}) if name == end else each for name, each in ENDS.items())
    unknown = dict.fromkeys(NEEDED[field])
    assert count(first, TICK, replace(TICK, clock_share=0.6), last) == replace(COUNTED, **unknown)


ENDS = {"first": FIRST, "last": LAST}


@pytest.mark.parametrize("field", ["read_bytes", "ticks", "major_faults"])
def test_an_engine_that_cannot_be_looked_into_is_unknown_not_idle(field):
    """It has ended, or the kernel does not account for reads."""
    name = {"read_bytes": "engine_bytes", "ticks": "engine_cores", "major_faults": "major_faults"}[field]
    found = count(FIRST, replace(LAST, engine=replace(LAST.engine, **{field: None})))
    assert getattr(found, name) is None


def test_a_stretch_without_ticks_has_no_clock():
    """At its ends the engine waits for its next command, which says nothing of its clock."""
    found = count(FIRST, LAST)
    assert (found.ticks_count, found.clock_share, found.device_celsius) == (2, None, 44.0)


def test_times_of_a_disk_begin_anew_after_49_days():
    """They are kept in 32 bits, also where the bytes are not."""
    before = DiskStat(read_bytes=0, busy_milliseconds=2**32 - 500, queue_milliseconds=2**32 - 1000)
    after = DiskStat(read_bytes=0, busy_milliseconds=500, queue_milliseconds=1000)
    found = count(replace(FIRST, disks={"sda": before}), replace(LAST, disks={"sda": after}))
    assert (found.device_busy_share, found.device_queue_depth) == (0.25, 0.5)


@pytest.mark.parametrize("end", ["first", "last"])
def test_without_a_census_nobody_else_is_known(end):
    """Nor without the kernel's times of processes."""
    fields = ["kswapd_cores", "throttle_count", "cpu"] + ["anonymous_bytes", "swapped_bytes"] * (end == "last")
    first, last = (replace(each, census=None) if name == end else each for name, each in ENDS.items())
    assert {getattr(count(first, last), field) for field in fields} == {None}
    silent = {name: replace(each, census=replace(each.census, cpu=None)) for name, each in ENDS.items()}
    assert (count(*silent.values()).cpu, count(*silent.values()).kswapd_cores) == (None, None)


def test_a_container_sees_no_thread_of_the_kernel():
    """That reclaim took no time cannot be said then."""
    processes = {42: LAST.census.cpu.processes[42]}
    cpu = replace(LAST.census.cpu, processes=processes)
    assert count(FIRST, replace(LAST, census=replace(LAST.census, cpu=cpu))).kswapd_cores is None
