"""The end of a qualification on the screen: every gate in one table, what to do, and the closing word."""

from __future__ import annotations

import pytest

from streamworthy.report.text import advice_lines, closing_line, failure_text, summary_lines
from streamworthy.report.visible import visible
from streamworthy.verdict import Word
from tests.face.run import run_of

_UNDECIDED = (Word.INCONCLUSIVE, Word.ERROR)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter, config):
    """Print the table and the verdict; the run's own files are named last."""
    run = run_of(config)
    if run is None or run.closing is None:
        return
    undecided = [(gate, found) for gate, found in run.outcomes.items() if found.verdict.word in _UNDECIDED]
    if undecided:
        terminalreporter.section("UNDECIDED")
    for gate, found in undecided:
        terminalreporter.section(gate, "_")
        terminalreporter.write_line(failure_text(gate, found))
    terminalreporter.section("qualification")
    for line in summary_lines(run.outcomes):
        terminalreporter.write_line(line)
    for line in advice_lines(run.outcomes):
        terminalreporter.write_line(line)
    for line in map(visible, run.notes):
        terminalreporter.write_line(line)
    terminalreporter.write_line("")
    terminalreporter.write_line(closing_line(run.closing, run.scope, run.outcomes), bold=True)
