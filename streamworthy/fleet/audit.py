"""Many machines' reports against the list of machines there should be: who qualifies, who does not, who is silent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamworthy.errors import UsageError
from streamworthy.fleet.read import BadFile, Case, Report, read_reports
from streamworthy.verdict import Closing, Word

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_SEVERITY = (Closing.NOT_QUALIFIED, Closing.UNDECIDED, Closing.PARTIAL, Closing.QUALIFIED)  # worst first
_OPEN = (Word.FAIL, Word.INCONCLUSIVE, Word.ERROR)
_LARGEST_INVENTORY = 16 * 2**20
_MOST_FILES = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What counts for one machine with one model under one tier: its newest report."""

    machine: str
    closing: Closing
    report: Report
    open_cases: tuple[Case, ...]  # FAIL first, then what is open; empty for a qualified machine
    listed: bool  # in the inventory; True without one


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """A fleet's state. ``silent`` machines are in the inventory and have no report that could be read."""

    rows: tuple[Row, ...]  # by machine, model and tier
    silent: tuple[str, ...]
    older: tuple[Report, ...]  # reports that a newer one replaces
    bad_files: tuple[BadFile, ...]

    @property
    def exit_code(self) -> int:
        """0: every machine is QUALIFIED; 1: one is not, or is silent; 10: something is open, unreadable or missing."""
        closings = {row.closing for row in self.rows}
        if self.silent or Closing.NOT_QUALIFIED in closings:
            return 1
        return 0 if closings == {Closing.QUALIFIED} and not self.bad_files else 10


def audit(paths: Iterable[Path], inventory: Path | None) -> Audit:
    """Read reports, and folders of them (every ``junit.xml`` below), and hold them against an inventory.

    UsageError when the inventory cannot be read or lists nothing; what is wrong with a report is part of the answer.
    """
    machines = read_inventory(inventory) if inventory is not None else None
    read = [found for path in _files(paths) for found in read_reports(path)]
    reports = [found for found in read if isinstance(found, Report)]
    newest, older = _newest(reports)
    names = {machine.casefold() for machine in machines or ()}
    heard = {report.host.casefold() for report in reports}
    return Audit(
        rows=tuple(_row(report, listed=machines is None or report.host.casefold() in names) for report in newest),
        silent=tuple(machine for machine in machines or () if machine.casefold() not in heard),
        older=older,
        bad_files=tuple(found for found in read if isinstance(found, BadFile)),
    )


def read_inventory(path: Path) -> tuple[str, ...]:
    """Read the names of the machines there should be, one a line; ``#`` begins a comment."""
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST_INVENTORY)
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}", fix=f"ls -lL {path}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 text: {error.reason} at byte {error.start}") from error
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    machines = {line.casefold(): line for line in lines if line}
    if not machines:
        raise UsageError(f"{path}: found no machine, expected one name a line", fix="list the machines' host names")
    spaced = next((machine for machine in machines.values() if len(machine.split()) > 1), None)
    if spaced is not None:
        raise UsageError(f"{path}: found {spaced!r}, expected one machine's name a line", fix="one name a line")
    return tuple(machines.values())


def _files(paths: Iterable[Path]) -> list[Path]:
    files: dict[Path, Path] = {}  # by real path: a file that two patterns name is one report
    for path in paths:
        for file in sorted(path.rglob("junit.xml"))[:_MOST_FILES] if path.is_dir() else (path,):
            files.setdefault(file.resolve(), file)
    return list(files.values())


def _newest(reports: list[Report]) -> tuple[list[Report], tuple[Report, ...]]:
    """Part the reports of each machine, model and tier into the newest and the older; of equals the worst counts."""
    groups: dict[tuple[str, str, str], list[Report]] = {}
    for report in reports:
        groups.setdefault((report.host.casefold(), report.get("model"), report.get("tier")), []).append(report)
    newest: list[Report] = []
    older: list[Report] = []
    for key in sorted(groups):
        group = sorted(groups[key], key=lambda report: (-report.date.timestamp(), _SEVERITY.index(count(report))))
        newest.append(group[0])
        older += group[1:]
    return newest, tuple(older)


def count(report: Report) -> Closing:
    """Say what a report counts as: its verdict, but the worse of verdict and cases where they contradict each other."""
    if not report.contradictions:
        return report.closing
    failing = any(case.word is Word.FAIL or "failure" in case.elements for case in report.cases)
    return Closing.NOT_QUALIFIED if failing or report.closing is Closing.NOT_QUALIFIED else Closing.UNDECIDED


def _row(report: Report, *, listed: bool) -> Row:
    cases = sorted((case for case in report.cases if case.word in _OPEN), key=lambda case: _OPEN.index(case.word))
    return Row(machine=report.host, closing=count(report), report=report, open_cases=tuple(cases), listed=listed)
