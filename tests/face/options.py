"""The options of a qualification as the library's request, and the combinations that are refused."""

from __future__ import annotations

import fcntl
import io
import os
import sys
from functools import partial
from pathlib import Path

import pytest

from streamworthy import front_door
from streamworthy.errors import UsageError
from streamworthy.facts.request import Request
from streamworthy.front_door import qualifying
from streamworthy.preparation import make_folder
from tests.face.screen import Screen

# options under which pytest tells about itself and asks no gate
_TELLING = ("help", "version", "markers", "cacheshow", "showfixtures", "show_fixtures_per_test", "collectonly")
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
        ("reruns", "--reruns"),  # of a gate that failed, until it passes
    ):
        if config.getoption(option, None) not in (None, False, 0, "no"):
            raise pytest.UsageError(f"{name}: not possible in a qualification: gates are measured one at a time")
    if (config.getoption("count", None) or 1) > 1:
        raise pytest.UsageError("--count: not possible in a qualification: it takes as many samples as it needs")
    if not config.pluginmanager.hasplugin("benchmark"):
        raise pytest.UsageError(
            "pytest-benchmark is not loaded (-p no:benchmark, PYTEST_DISABLE_PLUGIN_AUTOLOAD?): not possible in a "
            "qualification: samples are recorded with it"
        )
    _refuse_empty(config)
    config.option.importmode = "importlib"  # also where -o addopts= took it away: gates share their files' names
    config.option.benchmark_quiet = not config.getoption("benchmark_compare")
    config.option.reportchars = ""  # the table says it all, and the verdict is to be the last thing read
    if not judging(config):
        return
    sys.stdout = Screen(sys.stdout or io.StringIO())  # None: closed, as by >&-
    config.add_cleanup(sys.stdout.restore)
    if config.getoption("report"):
        _begin_report(config, _path(config, "report"))


def judging(config):
    """Tell whether gates will be asked: not where pytest lists or explains something."""
    return qualifying(config) and not any(config.getoption(name, None) for name in _TELLING)


def _refuse_empty(config):
    """Refuse ``--model="$UNSET"``: judging something else than was meant is worse than not judging."""
    for name in _WITH_VALUE:
        if config.getoption(name) == "":
            raise pytest.UsageError(f"--{name.replace('_', '-')}: found an empty text, expected a value: is it unset?")


def _path(config, name):
    """Give an option's path, None where it was not given."""
    given = config.getoption(name)
    try:
        return Path(given).expanduser() if given else None
    except RuntimeError as error:
        option = f"--{name.replace('_', '-')}"
        raise pytest.UsageError(f"{option}: found {given}, a home folder that nobody knows, expected a path") from error


def _begin_report(config, folder):
    """Send the JUnit file to a folder that can be written, cleared of what an earlier run said."""
    if not config.pluginmanager.hasplugin("junitxml"):
        raise pytest.UsageError("-p no:junitxml: not possible with --report: the report is what it writes")
    try:
        make_folder(folder, option="--report")
        _hold(config, folder)
        for name in ("junit.xml", "facts.json"):
            (folder / name).unlink(missing_ok=True)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from error
    except OSError as error:
        raise pytest.UsageError(f"{error.filename}: an earlier report, cannot be removed: {error.strerror}") from error
    config.stash[WANTED] = config.option.xmlpath
    config.option.xmlpath = str(folder / "junit.xml")


WANTED = pytest.StashKey[str | None]()  # --junitxml beside --report


def _hold(config, folder):
    """Keep the folder for this run: the files of two runs at once would be taken for those of one."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    config.add_cleanup(partial(os.close, handle))
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise UsageError(
            f"{folder}: found another run that writes its report there, expected none",
            fix="wait until it has ended, or give this run a folder of its own: --report FOLDER",
        ) from error
    except OSError:  # a network filesystem without locks
        return


def request_of(config):
    """Turn the command line into the library's request."""
    get = config.getoption

    path = partial(_path, config)
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
