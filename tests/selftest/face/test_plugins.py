"""Other plugins that skip, end or excuse gates: none of them makes a run greener."""

from __future__ import annotations

import pytest

from tests.selftest.face.running import MACHINES, qualify, read_report

PLUGIN = """
import pytest

def of(item):
    return item.path.stem == "test_memory" and item.name == "test_available"

@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    if of(item):
        {call}
    return (yield)

def pytest_collection_modifyitems(items):
    for item in filter(of, items):
        {collected}
"""


def run_with(folder, machine, *, call="pass", collected="pass"):
    """Judge a captured machine beside a plugin that does something to memory.available."""
    (folder / "another_plugin.py").write_text(PLUGIN.format(call=call, collected=collected))
    before = ("env", f"PYTHONPATH={folder}")
    run = qualify(folder, "-p", "another_plugin", "--sysroot", MACHINES / machine, before=before)
    return run, *read_report(folder / "report" / "junit.xml")


@pytest.mark.parametrize(
    "act",
    [
        {"call": "pytest.fail('Timeout (>1.0s) from pytest-timeout.')"},
        {"call": "pytest.skip('no time')"},
        {"call": "pytest.xfail('known')"},
        {"call": "raise SystemExit(0)"},
        {"collected": "item.add_marker(pytest.mark.skip(reason='not here'))"},
        {"collected": "item.add_marker(pytest.mark.xfail(run=False, reason='not here'))"},
    ],
)
def test_a_gate_that_was_not_asked_to_its_end_is_an_error(act, tmp_path):
    """pytest would end with 0, and the report would lack the gate."""
    run, suite, cases = run_with(tmp_path, "laptop-nvme", **act)
    assert (run.exit_code, suite["verdict"]) == (10, "UNDECIDED"), run.screen
    case = cases["memory.available"]
    assert (case.status, case.element) == ("error", "error")
    assert "the gate was not asked to its end" in case.text
    assert "Traceback" not in run.screen


def test_a_mark_excuses_no_failure(tmp_path):
    """An expected failure is a waiver without owner and expiry."""
    mark = "item.add_marker(pytest.mark.xfail(reason='known'))"
    run, suite, cases = run_with(tmp_path, "kubernetes-parent-limit", collected=mark)
    assert (run.exit_code, suite["verdict"]) == (1, "NOT QUALIFIED")
    assert (cases["memory.available"].status, cases["memory.available"].element) == ("FAIL", "failure")


def test_a_run_that_a_plugin_ends_decides_nothing(tmp_path):
    """What was asked by then passed, and the rest was never asked for."""
    run, suite, cases = run_with(tmp_path, "laptop-nvme", call="pytest.exit('enough', 7)")
    assert (run.exit_code, suite["verdict"]) == (7, "UNDECIDED")
    assert "memory.available" not in cases
