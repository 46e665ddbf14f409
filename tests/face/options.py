"""The options of a qualification as the library's request, and the combinations that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamworthy import front_door
from streamworthy.errors import UsageError
from streamworthy.facts.request import Request
from streamworthy.front_door import qualifying
from streamworthy.preparation import make_folder

_WITH_VALUE = ("model", "tier", "sha256", "waivers", "report", "sysroot", "scratch", "sample_size")


def pytest_addoption(parser, pluginmanager):
    """Add the options where the package is not installed, which would have added them earlier."""
    if not pluginmanager.has_plugin("streamworthy"):
        front_door.pytest_addoption(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    """Refuse what would make a performance gate vanish silently; send the JUnit file to the report folder."""
    if not qualifying(config):
        return
    for option, name in (
        ("benchmark_skip", "--benchmark-skip"),
        ("benchmark_only", "--benchmark-only"),
        ("numprocesses", "-n"),
        ("dist", "--dist"),
    ):
        if config.getoption(option, None) not in (None, False, 0, "no"):
            raise pytest.UsageError(f"{name}: not possible in a qualification: gates are measured one at a time")
    if not config.pluginmanager.hasplugin("benchmark"):
        raise pytest.UsageError("-p no:benchmark: not possible in a qualification: samples are recorded with it")
    _refuse_empty(config)
    config.option.benchmark_quiet = not config.getoption("benchmark_compare")
    config.option.reportchars = ""  # the table says it all, and the verdict is to be the last thing read
    if config.getoption("report") and not config.option.collectonly:
        config.option.xmlpath = str(_begin_report(Path(config.getoption("report")).expanduser()))


def _refuse_empty(config):
    """Refuse ``--model="$UNSET"``: judging something else than was meant is worse than not judging."""
    for name in _WITH_VALUE:
        if config.getoption(name) == "":
            raise pytest.UsageError(f"--{name.replace('_', '-')}: found an empty text, expected a value: is it unset?")


def _begin_report(folder):
    """Give the JUnit file's path in a folder that can be written, cleared of what an earlier run said."""
    try:
        make_folder(folder, option="--report")
        for name in ("junit.xml", "facts.json"):
            (folder / name).unlink(missing_ok=True)
    except (UsageError, OSError) as error:
        raise pytest.UsageError(str(error)) from error
    return folder / "junit.xml"


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
        self_check=get("self_check"),
        tiers=config.rootpath / "thresholds",
    )
