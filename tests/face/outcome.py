"""From a verdict to what pytest knows: passed, failure, error or skipped."""

from __future__ import annotations

import pytest
from _pytest._code.code import ReprFileLocation, TerminalRepr

from streamworthy.errors import StreamworthyError
from streamworthy.report.properties import case_properties
from streamworthy.report.text import failure_text, first_line
from streamworthy.verdict import Word, unknown
from tests.face.run import gate_of, run_of

_LETTERS = {
    Word.PASS: (".", "PASS"),
    Word.ADVICE: ("a", "ADVICE"),
    Word.FAIL: ("F", "FAIL"),
    Word.INCONCLUSIVE: ("?", "INCONCLUSIVE"),
    Word.ERROR: ("E", "ERROR"),
    Word.WAIVED: ("w", "WAIVED"),
    Word.NOT_APPLICABLE: ("-", "N/A"),
}

_FROM_OUTSIDE = (pytest.fail.Exception, pytest.skip.Exception, pytest.xfail.Exception, SystemExit)
_CATEGORIES = {Word.INCONCLUSIVE: "inconclusive", Word.ERROR: "undecided"}  # pytest's own "error" means a broken test


class Settled(Exception):  # noqa: N818 - an outcome, not an error
    """A gate's verdict other than pass or advice, on its way to the report."""


class GateText(TerminalRepr):
    """What is printed of a gate that did not pass: no traceback, since a verdict is no bug."""

    def __init__(self, text, path):
        self.text = text
        self.reprcrash = ReprFileLocation(path, 0, text.splitlines()[0])

    def __str__(self):
        return self.text

    def toterminal(self, tw):
        """Print the text as it is."""
        tw.line(self.text)


def why_of(item):
    """Give the gate's reason: the first paragraph of its docstring."""
    doc = getattr(getattr(item, "function", None), "__doc__", None) or ""
    return " ".join(doc.strip().split("\n\n")[0].split())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Write each gate's word as pytest's own outcome and its facts as properties."""
    report = yield
    run = run_of(item.config)
    if run is None or call.when == "teardown" or (call.when == "setup" and call.excinfo is None):
        return report
    gate = item.name if item.path.name == "test_qualification.py" else gate_of(item)
    if call.excinfo is not None and not call.excinfo.errisinstance(Settled):
        if call.excinfo.errisinstance((KeyboardInterrupt, pytest.exit.Exception)):
            return report  # they are not verdicts
        _settle_error(run, gate, item, call.excinfo.value)
    outcome = run.outcomes.get(gate)
    if outcome is None:
        _settle_error(run, gate, item, AssertionError("the gate asked nothing"))
        outcome = run.outcomes[gate]
    report.gate_word = outcome.verdict.word
    report.location = (report.location[0], report.location[1], gate)
    item.user_properties.extend(case_properties(outcome))
    _dress(report, outcome, gate, bug=call.excinfo is not None and _is_bug(call.excinfo.value))
    return report


def _is_bug(error):
    return not isinstance(error, (Settled, StreamworthyError, *_FROM_OUTSIDE))


def _settle_error(run, gate, item, error):
    if isinstance(error, StreamworthyError):
        found = unknown(error.message, error.fix)
    elif isinstance(error, _FROM_OUTSIDE):
        told = f"the gate was not asked to its end: {type(error).__name__}: {error}"
        found = unknown(told, "leave out the plugin that skips or ends tests (a time limit, a mark)")
    elif isinstance(error, OSError):
        found = unknown(f"{type(error).__name__}: {error}")
    else:
        found = unknown(f"a bug in the suite: {type(error).__name__}: {error}", "report it with the text above")
    run.settle(gate, found, why=why_of(item))


def _dress(report, outcome, gate, *, bug):
    word = outcome.verdict.word
    vars(report).pop("wasxfail", None)  # a mark of another plugin changes no verdict
    if word in (Word.PASS, Word.ADVICE):
        report.outcome, report.longrepr = "passed", None
    elif word in (Word.WAIVED, Word.NOT_APPLICABLE):
        line = first_line(gate, outcome)
        report.outcome, report.longrepr = "skipped", (str(report.fspath), report.location[1], f"Skipped: {line}")
    else:
        report.outcome = "failed"
        report.when = "call" if word is Word.FAIL else "setup"  # pytest writes <error> for setup only
        if not bug:
            report.longrepr = GateText(failure_text(gate, outcome), str(report.fspath))


def pytest_report_teststatus(report):
    """Show a gate's word instead of pytest's."""
    word = getattr(report, "gate_word", None)
    if word is None or report.when == "teardown":
        return None
    letter, text = _LETTERS[word]
    return _CATEGORIES.get(word, report.outcome), letter, text
