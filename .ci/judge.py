# ruff: noqa: INP001 - a script, not a package
"""Decides whether CI accepts a qualification: ``judge.py JUNIT EXIT_CODE``.

A FAIL is a failure. A run that could not decide is one too, unless every gate it left open is inconclusive because a
named process disturbed the measurement: a shared CI machine is no fault of the change.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from junitparser import JUnitXml, JUnitXmlError, Properties

if TYPE_CHECKING:
    from collections.abc import Iterator

UNDECIDED = 10
_SETTLED = {"pass", "FAIL", "advice", "waived", "n/a"}
_DISTURBER = re.compile(r"\S \(pid \d+\)")  # name (pid N), as the suite writes it


def judge(path: str, code: int) -> list[str]:
    """List what CI objects to; empty when it accepts."""
    if code not in {0, UNDECIDED}:
        return [f"the run ended with exit code {code}"]
    try:
        cases = [dict(_properties(case)) for suite in JUnitXml.fromfile(path) for case in suite]
    except (OSError, JUnitXmlError, SyntaxError) as error:  # ElementTree's ParseError is a SyntaxError
        return [f"{path}: {error}"]
    if not any(case.get("status") in {"pass", "FAIL", "advice"} for case in cases):
        return [f"{path}: no gate was asked"]
    return [_open(case) for case in cases if case.get("status") not in _SETTLED and not _disturbed(case)]


def _properties(case: object) -> Iterator[tuple[str, str]]:
    found = case.child(Properties)  # type: ignore[attr-defined]
    for item in found if found is not None else ():
        yield item.name, item.value or ""


def _disturbed(case: dict[str, str]) -> bool:
    return case.get("status") == "inconclusive" and bool(_DISTURBER.search(case.get("cause", "")))


def _open(case: dict[str, str]) -> str:
    return f"{case.get('gate', 'a gate')}: {case.get('status', 'no status')}: {case.get('cause', 'no cause given')}"


def main(arguments: list[str]) -> int:
    """Print the objections and give the exit code."""
    objections = judge(arguments[0], int(arguments[1]))
    for objection in objections:
        sys.stdout.write(f"ci: {objection}\n")
    if not objections:
        sys.stdout.write(f"ci: accepted (exit code {arguments[1]})\n")
    return 1 if objections else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
