"""What is kept with a number."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.criteria.evidence import evidence
from streamworthy.units import format_seconds
from tests.selftest.engine.records import COUNTERS, SAMPLE, make_series
from tests.selftest.facts.test_cpu_load import LOAD


def told(*counters):
    """Write the evidence of samples with these counters, by name."""
    samples = tuple(replace(SAMPLE, counters=each) for each in counters)
    lines = evidence(replace(make_series(), samples=samples), format_seconds, (2.0,) * len(samples))
    return dict(line.split("=", 1) for line in lines)


def test_the_evidence_is_whole():
    """State, spread, cache, bytes, pressure, device, engine, temperature, disturbers and notes, in this order."""
    series = make_series(1.0, 3.0)
    hiding = replace(series.samples[0], hidden="3 processes")
    counters = replace(COUNTERS, device_celsius=None, io_full_share=0.75)
    noted = replace(
        SAMPLE,
        seconds=2.0,
        note="12.0 MiB a token",
        resident_share=None,
        counters=counters,
        disturbers=("cp (pid 9)",),
    )

    assert evidence(replace(series, samples=(hiding, series.samples[1], noted)), format_seconds, (1.0, 3.0, 2.0)) == (
        "state=warm, steady",
        "spread=1.0 s to 3.0 s",
        "resident_before=0.0 %",
        "device_bytes=40.0 MiB",
        "major_faults=7",
        "psi_io_full=25.0 %",
        "psi_memory_full=0.0 %",
        "device_busy=40.0 %",
        "device_queue=2.5 requests",
        "engine_cpu=1.25 cores",
        "refaulted=30.0 MiB",
        "temperature=41 C",
        "disturbed_by=cp (pid 9)",
        "not_seen=3 processes",
        "notes=12.0 MiB a token",
    )


def test_nothing_is_written_of_no_samples():
    """There is no number that it would stand beside."""
    assert evidence(make_series(), format_seconds, ()) == ()


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"swapped_in_bytes": 3 * 2**20}, ("swapped_in", "3.0 MiB")),
        ({"kswapd_cores": 0.75}, ("kswapd", "0.75 cores")),
        ({"throttle_count": 12}, ("throttled", "12 times")),
        ({"cpu_celsius": 96.4}, ("cpu_temperature", "96 C")),
        ({"clock_share": 0.55}, ("clock", "55.0 % of the highest")),
    ],
)
def test_what_happened_is_written_and_what_did_not_is_left_out(changes, line):
    """The lines of a quiet machine are few."""
    name, text = line
    assert told(replace(COUNTERS, **changes))[name] == text
    assert name not in told(COUNTERS)
    assert name not in told(replace(COUNTERS, **dict.fromkeys(changes)))


def test_the_worst_of_the_disturbed_samples_names_who_computed():
    """The medians are of all that are known."""
    calm = replace(LOAD, others_cores=0.0, wait_share=0.0, busiest=("ls (pid 3), 0.06 of a core",))
    lines = told(*[replace(COUNTERS, cpu=load) for load in (calm, LOAD, None)])
    assert (lines["cpu_of_others"], lines["run_queue_wait"], lines["other_load"]) == (
        "0.45 cores",
        "40.0 %",
        "cc1 (pid 7), 0.90 of a core",
    )
