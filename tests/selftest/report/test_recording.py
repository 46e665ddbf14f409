"""Samples in pytest-benchmark."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from streamworthy.report.recording import VirtualClock, record, rounds_of
from tests.selftest.bench.test_roofs import BANDWIDTH
from tests.selftest.criteria.disk_reads import LATENCY, SEQUENTIAL, SLABS, SUSTAINED
from tests.selftest.engine.records import MIB, make_series

GIB = 2**30
_REPOSITORY = Path(__file__).parents[3]
_GATE = """
import pytest
from streamworthy.report.recording import VirtualClock, record
from tests.selftest.engine.records import make_series

clock = VirtualClock()

@pytest.mark.benchmark(timer=clock)
def test_rate(benchmark):
    record(make_series(2.0, 4.0, 3.0, 2.5, 8.0), clock, lambda: benchmark)
    assert False, "a gate that fails is saved, too"
"""


def test_a_gates_samples_are_saved_even_when_it_fails(tmp_path):
    """The saved values are the metric's seconds, in order, with rates and device bytes beside them."""
    (tmp_path / "test_gate.py").write_text(_GATE)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        "-c",
        "/dev/null",
    ]
    ran = subprocess.run(
        [*command, f"--benchmark-json={tmp_path}/saved.json", str(tmp_path / "test_gate.py")],
        cwd=_REPOSITORY,
        env={"PYTHONPATH": str(_REPOSITORY), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 1, ran.stdout + ran.stderr
    (saved,) = json.loads((tmp_path / "saved.json").read_text())["benchmarks"]
    assert saved["stats"]["data"] == [2.0, 4.0, 3.0, 2.5, 8.0]
    assert saved["stats"]["median"] == 3.0
    assert saved["extra_info"]["tokens_per_second"] == [4.0, 2.0, 8 / 3, 3.2, 1.0]
    assert saved["extra_info"]["gate"] == "decode.warm_rate"


def test_a_series_without_samples_never_asks_for_the_fixture():
    """An engine that gave nothing leaves no empty record, and no warning of an unused fixture."""

    def never():
        raise AssertionError("the fixture was asked for")

    series = make_series()

    assert record(series, VirtualClock(), never) is series


def test_the_clock_moves_only_when_told():
    """Two readings without an advance are equal."""
    clock = VirtualClock()
    first = clock()
    clock.advance(1.5)

    assert (first, clock(), clock()) == (0.0, 1.5, 1.5)


def test_a_load_has_no_rate():
    """Absent is None."""
    series = make_series(2.0)
    load = make_series(2.0).samples[0]

    assert rounds_of(series).info["device_bytes"] == [40 * MIB]
    assert rounds_of(series).info["tokens_per_second"] == [4.0]
    assert load.resident_share == 0.0


@pytest.mark.parametrize(
    ("found", "seconds"),
    [
        (SEQUENTIAL, (GIB / 2e9, GIB / 3e9, GIB / 4e9)),
        (SLABS, (GIB / 2e9, GIB / 3e9, GIB / 4e9)),
        (replace(SEQUENTIAL, eight=None, one=None), ()),
        (replace(SLABS, sizes=()), ()),
        (LATENCY, (80e-6, 100e-6, 900e-6)),
        (replace(SUSTAINED, rates_bytes_per_second=()), ()),
        (BANDWIDTH, (GIB / 38e9, GIB / 40e9)),
    ],
)
def test_rounds_of_disk_and_memory_are_seconds_for_a_gib(found, seconds):
    """Rounds are cut to a time, so their own seconds would tell nothing; a single read's latency does."""
    assert rounds_of(found).seconds == seconds


def test_every_path_of_a_slab_is_kept_with_its_bytes():
    """The first is the one that is judged."""
    info = rounds_of(SLABS).info
    assert list(info) == [
        "seconds_of", "bytes_per_second", "method", "devices", "doubts",
        "O_DIRECT x8, 1048576 bytes", "O_DIRECT x1, 1048576 bytes", "mmap faults x4, 6291456 bytes",
    ]  # fmt: skip
    assert info["mmap faults x4, 6291456 bytes"]["device_bytes"] == 120 * MIB


def test_a_minute_is_kept_second_by_second():
    """With what the drive's temperature did meanwhile."""
    rounds = rounds_of(SUSTAINED)
    assert len(rounds.seconds) == 60
    assert (rounds.info["celsius_before"], rounds.info["celsius_after"]) == (40.0, 71.0)


def test_what_has_no_rounds_is_a_mistake():
    """A gate that records something else is wrong."""
    with pytest.raises(TypeError, match="str: found no rounds in it"):
        rounds_of("fast")
