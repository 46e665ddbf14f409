"""Samples in pytest-benchmark."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from streamworthy.engine.recording import VirtualClock, extra_info, record
from tests.selftest.engine.records import MIB, make_series

_REPOSITORY = Path(__file__).parents[3]
_GATE = """
import pytest
from streamworthy.engine.recording import VirtualClock, record
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

    assert extra_info(series)["device_bytes"] == [40 * MIB]
    assert extra_info(series)["tokens_per_second"] == [4.0]
    assert load.resident_share == 0.0
