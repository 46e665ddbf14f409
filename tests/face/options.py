"""The options of a qualification as the library's request, and the combinations that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamworthy import front_door
from streamworthy.front_door import qualifying
from streamworthy.qualification import Request


def pytest_addoption(parser, pluginmanager):
    """Add the options where the package is not installed, which would have added them earlier."""
    if not pluginmanager.has_plugin("streamworthy"):
        front_door.pytest_addoption(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    """Refuse what would make a performance gate pass or vanish silently; send the JUnit file to the report folder."""
    if not qualifying(config):
        return
    for option, name in (
        ("benchmark_disable", "--benchmark-disable"),
        ("benchmark_skip", "--benchmark-skip"),
        ("benchmark_only", "--benchmark-only"),
        ("numprocesses", "-n"),
        ("dist", "--dist"),
    ):
        if config.getoption(option, None) not in (None, False, 0, "no"):
            raise pytest.UsageError(f"{name}: not possible in a qualification: gates are measured one at a time")
    if not config.pluginmanager.hasplugin("benchmark"):
        raise pytest.UsageError("-p no:benchmark: not possible in a qualification: samples are recorded with it")
    config.option.benchmark_quiet = not config.getoption("benchmark_compare")
    config.option.reportchars = ""  # the table says it all, and the verdict is to be the last thing read
    if config.getoption("report"):
        config.option.xmlpath = str(Path(config.getoption("report")) / "junit.xml")


def request_of(config):
    """Turn the command line into the library's request."""
    get = config.getoption

    def path(name):
        return Path(get(name)).expanduser() if get(name) else None

    return Request(
        model=path("model"),
        tier=get("tier"),
        sha256=path("sha256"),
        rehash=get("rehash"),
        depth=get("depth"),
        waivers=path("waivers"),
        report=path("report"),
        sysroot=path("sysroot"),
        disturb=get("disturb"),
        anonymous=get("anonymous"),
        scratch=path("scratch"),
        sample_size=get("sample_size"),
        tiers=config.rootpath / "thresholds",
    )
