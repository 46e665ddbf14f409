"""The life of a qualification inside a pytest session: prepare after collection, close and write at its end."""

from __future__ import annotations

import shutil
import signal
import threading
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest
from _pytest.junitxml import xml_key

from streamworthy.errors import StreamworthyError
from streamworthy.front_door import qualifying
from streamworthy.qualification import Qualification
from streamworthy.report.visible import visible
from streamworthy.verdict import EXIT_CODES, Closing
from tests.face.options import WANTED, judging, request_of

RUN = pytest.StashKey[Qualification]()


def run_of(config):
    """Give the session's qualification, None in a session of self-tests."""
    return config.stash.get(RUN, None)


def gate_of(item):
    """Derive a gate's name from its test: `test_memory.py::test_swap_in_use` is `memory.swap_in_use`."""
    topic = item.path.stem.removeprefix("test_")
    return f"{topic}.{item.name.removeprefix('test_')}"


class SetupCase(pytest.Item):
    """The one case of a run that cannot begin, so that an audit sees why."""

    def __init__(self, *, error, **kwargs):
        super().__init__(**kwargs)
        self.error = error
        self.path = Path("tests/gates/test_qualification.py")

    def runtest(self):
        """Raise what stopped the run."""
        raise self.error

    def reportinfo(self):
        """Name the case as if it were a gate."""
        return self.path, None, "qualification.setup"


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    """Begin a qualification; later steps need the terminal, so nothing is probed yet."""
    if judging(config):
        config.stash[RUN] = Qualification(request_of(config), say=lambda line: _say(config, line))
        _end_as_by_ctrl_c(config)


def _end_as_by_ctrl_c(config):
    """End a cancelled job and a stopped service like Ctrl-C: with a whole report, and nothing left behind."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup asks to be left alone
            signal.signal(number, signal.default_int_handler)
            config.add_cleanup(partial(signal.signal, number, signal.SIG_DFL))


def _say(config, text):
    line = visible(text)
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    capture = config.pluginmanager.get_plugin("capturemanager")
    if terminal is None:
        return
    with capture.global_and_fixture_disabled() if capture else nullcontext():
        terminal.ensure_newline()
        if terminal.isatty:  # "collecting ..." stands there without a newline
            terminal.rewrite(line, erase=True)
            line = ""
        terminal.write_line(line)


def pytest_ignore_collect(collection_path, config):
    """Import only what is asked: self-tests cost seconds, and a qualification starts in less than one."""
    tests = config.rootpath / "tests"
    unasked = ("selftest", "benchmarks") if qualifying(config) else ("gates",)
    return True if any(collection_path.is_relative_to(tests / folder) for folder in unasked) else None


def pytest_itemcollected(item):
    """Mark every test below tests/gates as a gate."""
    if item.path.is_relative_to(item.config.rootpath / "tests" / "gates"):
        item.add_marker(pytest.mark.qualify)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(session, config, items):
    """Prepare the run: choose model and tier. What stops it becomes the run's one case.

    Gates are asked in their files' order, whatever plugin has shuffled them: what takes a second before what takes an
    hour, and one table looks like another. Disk and memory are measured before an engine maps the shards.
    """
    run = run_of(config)
    if run is None:
        return
    items.sort(key=_order)
    try:
        run.prepare(tuple(gate_of(item) for item in items))
    except (StreamworthyError, OSError) as error:
        case = SetupCase.from_parent(session, name="qualification.setup", nodeid=_SETUP_ID, error=error)
        items[:] = [case]


def _order(item):
    path = item.path
    early = path.parent.name == "performance" and path.stem in _BEFORE_ENGINE
    return str(path.parent), not early, str(path), item.function.__code__.co_firstlineno


_BEFORE_ENGINE = ("test_bandwidth", "test_disk", "test_storage")
_SETUP_ID = "tests/gates/test_qualification.py::test_setup"


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_sessionfinish(session, exitstatus):
    """End the engine, close the run, and finish the files that pytest wrote."""
    run = run_of(session.config)
    if run is None:
        return (yield)
    ended = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
    run.end(interrupted=not ended)
    if ended:
        session.exitstatus = EXIT_CODES[run.closing]
    result = None
    try:
        result = yield
        _write(session.config, run)
    except (StreamworthyError, OSError) as error:
        run.notes.append(f"what this run writes is not whole: {error}")
        if run.closing is not Closing.NOT_QUALIFIED:
            session.exitstatus = EXIT_CODES[Closing.UNDECIDED]
    return result


def _write(config, run):
    """Finish the JUnit file, also where it was asked for with pytest's own option."""
    xml = config.stash.get(xml_key, None)
    written = Path(xml.logfile) if xml else None
    if written and run.request.report is None and (written.is_symlink() or not written.is_file()):
        run.notes.append(f"{written}: no regular file, so it holds no verdict: --report FOLDER writes one")
        written = None
    run.write(written)
    if config.stash.get(WANTED, None):
        shutil.copyfile(written, config.stash[WANTED])
