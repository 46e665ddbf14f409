"""The fleet command, as it is typed."""

import csv
import json
import subprocess
import sys

import pytest
from junitparser import JUnitXml

from tests.selftest.fleet.test_read import REPORTS


def fleet(*arguments):
    """Run the command; gives exit code, standard output and standard error."""
    command = [sys.executable, "-m", "streamworthy.cli", "fleet", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(("name", "code"), [("qualified.xml", 0), ("not-qualified.xml", 1), ("partial.xml", 10)])
def test_exit_code_and_closing_line(name, code):
    """The exit code is the audit's, and the last line says why."""
    returned, out, _ = fleet(REPORTS / name)
    assert (returned, out.splitlines()[-1].startswith("fleet: ")) == (code, True)


def test_all_forms(tmp_path):
    """One call writes JUnit, CSV and JSON."""
    outputs = [tmp_path / name for name in ("fleet.xml", "fleet.csv", "fleet.json")]
    code, out, _ = fleet(REPORTS / "qualified.xml", "--junit", outputs[0], "--csv", outputs[1], "--json", outputs[2])
    assert (code, [line for line in out.splitlines() if line.startswith("written")]) == (
        0,
        [f"written: {path}" for path in outputs],
    )
    assert len(list(JUnitXml.fromfile(str(outputs[0])))) == 1
    assert len(list(csv.reader(outputs[1].open()))) == 2
    assert json.loads(outputs[2].read_text())["exit_code"] == 0


def test_a_report_is_not_overwritten(tmp_path):
    """An output that is one of the inputs is refused."""
    file = tmp_path / "junit.xml"
    file.write_bytes((REPORTS / "qualified.xml").read_bytes())
    code, _, err = fleet(file, "--junit", file)
    assert (code, "would be overwritten" in err, "Traceback" in err) == (2, True, False)
    assert file.read_bytes() == (REPORTS / "qualified.xml").read_bytes()


@pytest.mark.parametrize("option", ["--junit", "--inventory"])
def test_paths_that_cannot_be_used(option):
    """A path that cannot be used is one line, without a traceback."""
    code, _, err = fleet(REPORTS / "qualified.xml", option, "/nonexistent/file")
    assert (code, err.startswith("streamworthy: /nonexistent/file: cannot be "), "Traceback" in err) == (2, True, False)
