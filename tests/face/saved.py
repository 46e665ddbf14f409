"""Saved samples: what pytest-benchmark stores of this machine, and which stored samples may be compared."""

from __future__ import annotations

import pytest

from streamworthy.engine.build import probe_build
from tests.face.run import run_of


def pytest_benchmark_update_machine_info(config, machine_info):
    """Store the engine's build, and no host name when asked to."""
    run = run_of(config)
    if run is None:
        return
    build = probe_build()
    machine_info["engine"] = f"{build.name} {build.version}, {build.flags}" if build else "none"
    if run.request.anonymous:
        machine_info["node"] = run.shown_host


@pytest.hookimpl(tryfirst=True)
def pytest_benchmark_compare_machine_info(config, machine_info, compared_benchmark):
    """Compare nothing with another engine's samples: native and portable builds differ by more than machines do."""
    run = run_of(config)
    if run is None:
        return
    then, now = compared_benchmark["machine_info"].get("engine", "unknown"), machine_info["engine"]
    if then != now:
        compared_benchmark["benchmarks"].clear()
        run.say(f"--benchmark-compare: nothing is compared: saved with {then}, this is {now}")
