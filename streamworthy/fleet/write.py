"""Writes an audit: a table for people, CSV for spreadsheets, JSON for programs."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from datetime import UTC
from typing import TYPE_CHECKING

from streamworthy.verdict import Closing, Word

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamworthy.fleet.audit import Audit, Row
    from streamworthy.fleet.read import Case, Report

SILENT = "silent"
NO_REPORT = "in the inventory, and no report of it could be read"
_FORMULA = ("=", "+", "-", "@")  # OWASP, "CSV Injection"; its tab and line ends do not get this far
_COLUMNS = (
    "machine", "verdict", "tier", "model", "date", "depth", "suite_version",
    "failing", "open", "causes", "notes", "file",
)  # fmt: skip


def format_text(audit: Audit) -> str:
    """Write the table machine x verdict with what failed and why, what was not counted, and a closing line."""
    table: list[tuple[tuple[str, ...], tuple[str, ...]]] = [(("machine", "verdict", "tier", "model", "date"), ())]
    table += [(_cells(row), _details(row)) for row in audit.rows]
    table += [((machine, SILENT, "-", "-", "-"), (NO_REPORT,)) for machine in audit.silent]
    widths = [max(len(plain(cells[column])) for cells, _ in table) for column in range(5)]
    lines = []
    for cells, details in table:
        padded = (plain(cell).ljust(width) for cell, width in zip(cells, widths, strict=True))
        lines.append("  ".join(padded).rstrip())
        lines += [f"    {plain(detail)}" for detail in details]
    return "\n".join([*lines, *map(plain, _not_counted(audit)), "", closing_line(audit)])


def _cells(row: Row) -> tuple[str, ...]:
    report = row.report
    return row.machine, str(row.closing), report.get("tier"), report.get("model"), _moment(report)


def _details(row: Row) -> tuple[str, ...]:
    return *(_case_line(case) for case in row.open_cases), *_notes(row)


def _moment(report: Report) -> str:
    return report.date.astimezone(UTC).strftime("%Y-%m-%d %H:%M")


def closing_line(audit: Audit) -> str:
    """Say in one line how many of the fleet's verdicts are which."""
    counts = Counter(str(row.closing) for row in audit.rows) + Counter({SILENT: len(audit.silent)})
    told = [f"{counts[word]} {word}" for word in (*map(str, Closing), SILENT) if counts[word]]
    if audit.bad_files:
        told.append(f"{len(audit.bad_files)} not readable as a report")
    total = len(audit.rows) + len(audit.silent)
    return f"fleet: {counts[str(Closing.QUALIFIED)]} of {total} qualified: {', '.join(told) or 'nothing was read'}"


def _case_line(case: Case) -> str:
    said = ": ".join(part for part in (case.measured if case.measured != "unknown" else "", case.cause) if part)
    return f"{case.word} {case.gate}: {said or 'no cause given'}"


def _notes(row: Row) -> Iterator[str]:
    for contradiction in row.report.contradictions:
        yield f"inconsistent report: {contradiction}"
    if row.closing is Closing.PARTIAL:
        yield f"not a whole qualification: {row.report.get('scope')}"
    if not row.listed:
        yield "not in the inventory"


def _not_counted(audit: Audit) -> Iterator[str]:
    for report in audit.older:
        yield f"older, not counted: {report.path}: {report.host} {report.closing} of {_moment(report)}"
    for bad in audit.bad_files:
        yield f"{bad.kind}, not counted: {bad.path}: {bad.reason}"


def plain(text: str) -> str:
    """Keep a report from writing control codes to a terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))


def format_csv(audit: Audit) -> str:
    """Write a line for each row and silent machine; a cell that a spreadsheet would run is led by an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(_COLUMNS)
    for record in _records(audit):
        writer.writerow([_cell(plain(record[column])) for column in _COLUMNS])
    return out.getvalue()


def _cell(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


def _records(audit: Audit) -> Iterator[dict[str, str]]:
    for row in audit.rows:
        report = row.report
        yield {
            "machine": row.machine,
            "verdict": str(row.closing),
            "tier": report.get("tier"),
            "model": report.get("model"),
            "date": report.date.isoformat(),
            "depth": report.get("depth"),
            "suite_version": report.get("suite_version"),
            "failing": " ".join(case.gate for case in row.open_cases if case.word is Word.FAIL),
            "open": " ".join(case.gate for case in row.open_cases if case.word is not Word.FAIL),
            "causes": "; ".join(_case_line(case) for case in row.open_cases),
            "notes": "; ".join(_notes(row)),
            "file": str(report.path),
        }
    for machine in audit.silent:
        empty = dict.fromkeys(_COLUMNS, "")
        yield {**empty, "machine": machine, "verdict": SILENT, "notes": NO_REPORT}


def format_json(audit: Audit) -> str:
    """Write everything that was read: what counts, who is silent, what was not counted and why."""
    content = {
        "exit_code": audit.exit_code,
        "machines": [
            {
                "machine": row.machine,
                "verdict": row.closing,
                "listed": row.listed,
                "file": str(row.report.path),
                "date": row.report.date.isoformat(),
                "contradictions": row.report.contradictions,
                "properties": row.report.properties,
                "open": [
                    {"gate": case.gate, "status": case.word, "measured": case.measured, "cause": case.cause}
                    for case in row.open_cases
                ],
            }
            for row in audit.rows
        ],
        "silent": audit.silent,
        "older": [
            {
                "machine": report.host,
                "verdict": report.closing,
                "date": report.date.isoformat(),
                "file": str(report.path),
            }
            for report in audit.older
        ],
        "bad_files": [{"file": str(bad.path), "kind": bad.kind, "reason": bad.reason} for bad in audit.bad_files],
    }
    return json.dumps(content, indent=1) + "\n"
