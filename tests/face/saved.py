"""Saved samples: what pytest-benchmark stores of this machine, and which stored samples may be compared."""

from __future__ import annotations

import pytest

from streamworthy.engine.build import probe_build
from streamworthy.front_door import qualifying
from streamworthy.report.identity import read_salt, salted_id


def pytest_benchmark_update_machine_info(config, machine_info):
    """Store the engine's build, and no host name when asked to."""
    if not qualifying(config):
        return
    build = probe_build()
    machine_info["engine"] = f"{build.name} {build.version}, {build.flags}" if build else "none"
    if config.getoption("anonymous"):
        machine_info["node"] = salted_id(machine_info["node"], read_salt())


@pytest.hookimpl(tryfirst=True)
def pytest_benchmark_compare_machine_info(config, benchmarksession, machine_info, compared_benchmark):
    """Compare nothing with another engine's samples: native and portable builds differ by more than machines do."""
    if not qualifying(config):
        return
    then, now = compared_benchmark["machine_info"].get("engine", "unknown"), machine_info["engine"]
    if then != now:
        compared_benchmark["benchmarks"].clear()
        told = f"Nothing is compared: saved with {then}, this is {now}"
        benchmarksession.logger.warning(told)
