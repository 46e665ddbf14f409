"""Running a qualification as a user does, in a process of its own, and reading back what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from junitparser import Error, Failure, JUnitXml, Properties, Skipped

from streamworthy.report.junit import check_junit

ROOT = Path(__file__).parents[3]
MACHINES = ROOT / "fixtures" / "machines"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One gate as the JUnit file tells it."""

    status: str
    element: str  # "failure", "error", "skipped" or ""
    properties: dict[str, str]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What came of a run."""

    exit_code: int
    screen: str
    suite: dict[str, str]
    cases: dict[str, Case]

    @property
    def closing(self):
        """The last line that begins with a closing word."""
        return re.findall(r"^(?:QUALIFIED|NOT QUALIFIED|UNDECIDED|PARTIAL):.*$", self.screen, re.MULTILINE)[-1]

    def with_status(self, status):
        """Give the names of the gates with a status."""
        return {name for name, case in self.cases.items() if case.status == status}


def environment(home):
    """An environment in which nothing of the user's own is read or written."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH") if name in os.environ}
    return kept | {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}


def command(*arguments):
    """The command line of a qualification; other plugins of this environment stay out of it."""
    return [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:randomly",
        "-p",
        "no:cacheprovider",
        "-m",
        "qualify",
        *map(str, arguments),
    ]


def qualify(folder, *arguments, report=True, timeout=120, before=()):
    """Run `pytest -m qualify` with a report below ``folder`` and read everything back.

    ``before`` is a command that runs another one, such as prlimit.
    """
    target = folder / "report"
    asked = (*arguments, "--report", target) if report else arguments
    line = [*before, *command(*asked)]
    done = subprocess.run(
        line, cwd=ROOT, env=environment(folder), capture_output=True, text=True, timeout=timeout, check=False
    )
    screen = done.stdout + done.stderr
    suite, cases = read_report(target / "junit.xml") if not before and (target / "junit.xml").exists() else ({}, {})
    return Run(exit_code=done.returncode, screen=screen, suite=suite, cases=cases)


def read_report(path):
    """Read a JUnit file that has to keep the schema's promise: the suite's properties and its cases by gate."""
    check_junit(path)
    (suite,) = JUnitXml.fromfile(str(path))
    cases = {}
    for case in suite:
        properties = {prop.name: prop.value for prop in case.child(Properties)}
        kinds = {Failure: "failure", Error: "error", Skipped: "skipped"}
        element = "".join(kinds[type(result)] for result in case.result)
        text = "".join(f"{result.message}\n{result.text or ''}" for result in case.result)
        cases[properties["gate"]] = Case(status=properties["status"], element=element, properties=properties, text=text)
    return {prop.name: prop.value for prop in suite.properties()}, cases
