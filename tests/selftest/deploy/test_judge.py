"""What CI accepts of a qualification: the exit code and the reason why gates were left open."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

JUDGE = Path(__file__).parents[3] / ".ci" / "judge.py"
PASSED = ("memory.total", "pass", "")
DISTURBED = ("decode.warm_rate", "inconclusive", "read by backup (pid 4711)")


@pytest.fixture
def judge(tmp_path):
    """Write a JUnit file of (gate, status, cause) and let CI judge it with the run's exit code."""

    def run(code, *cases):
        body = "".join(
            f'<testcase name="{gate}"><properties><property name="gate" value="{gate}"/><property name="status" '
            f'value="{status}"/><property name="cause" value="{cause}"/></properties></testcase>'
            for gate, status, cause in cases
        )
        path = tmp_path / "junit.xml"
        path.write_text(f'<testsuites><testsuite name="pytest">{body}</testsuite></testsuites>')
        return _run(path, code)

    return run


def _run(path, code):
    done = subprocess.run([sys.executable, JUDGE, path, str(code)], capture_output=True, text=True, check=False)
    assert not done.stderr
    return done.returncode, done.stdout


def test_passed(judge):
    """A run that passed is accepted."""
    assert judge(0, PASSED) == (0, "ci: accepted (exit code 0)\n")


@pytest.mark.parametrize("code", [1, 2, 3, 4, 5])
def test_failed(judge, code):
    """A FAIL, an interrupted run, a bug or a wrong option is a failure."""
    assert judge(code, PASSED) == (1, f"ci: the run ended with exit code {code}\n")


def test_undecided_with_a_named_disturber(judge):
    """A gate left open because a named process disturbed it is no fault of the change."""
    assert judge(10, PASSED, DISTURBED)[0] == 0


@pytest.mark.parametrize(
    "case",
    [
        ("decode.warm_rate", "inconclusive", "the samples drift"),
        ("decode.warm_rate", "error", "backup (pid 4711)"),
        ("decode.warm_rate", "inconclusive", ""),
    ],
)
def test_undecided_for_another_reason(judge, case):
    """Noise, drift and unknown facts are failures, and the gate is named, also beside a disturbed one."""
    code, said = judge(10, PASSED, DISTURBED, case)
    assert (code, said.splitlines()[0].startswith("ci: decode.warm_rate: ")) == (1, True)


def test_error_hidden_behind_a_good_exit_code(judge):
    """An open gate is told even if the run claimed success."""
    assert judge(0, PASSED, ("load.mmap", "error", "no engine"))[0] == 1


def test_nothing_asked(judge):
    """A run in which every gate was skipped proves nothing."""
    assert judge(0, ("memory.total", "n/a", "captured"))[0] == 1


@pytest.mark.parametrize("text", [None, "", "<testsuites>", "no xml"])
def test_broken_report(tmp_path, text):
    """A report that is missing or cut short is a failure, with its name."""
    path = tmp_path / "junit.xml"
    if text is not None:
        path.write_text(text)
    code, said = _run(path, 0)
    assert code == 1
    assert str(path) in said
