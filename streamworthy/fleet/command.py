"""The command ``streamworthy fleet``: reads reports, prints the audit, writes it in other forms."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from streamworthy.errors import UsageError
from streamworthy.fleet.audit import audit
from streamworthy.fleet.merge import format_junit
from streamworthy.fleet.write import format_csv, format_json, format_text

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from streamworthy.fleet.audit import Audit


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "fleet",
        help="audit many machines by their reports",
        description="Prints machines x verdict. Exit: 0 all QUALIFIED, 1 one NOT QUALIFIED or silent, 10 undecided.",
    )
    parser.add_argument("reports", nargs="+", type=Path, metavar="REPORT", help="junit.xml files, or folders of them")
    parser.add_argument("--inventory", type=Path, metavar="FILE", help="machines there should be, one name a line")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write all counted reports as one JUnit")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write a line for each machine")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything that was found")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, say: Callable[[str], None]) -> int:
    """Audit the reports; gives the exit code. UsageError for an inventory or an output that cannot be used."""
    found = audit(arguments.reports, arguments.inventory)
    say(format_text(found))
    if arguments.junit is not None:
        _write(arguments.junit, format_junit(found, written=datetime.now(UTC)), found, say)
    if arguments.csv is not None:
        _write(arguments.csv, format_csv(found).encode(), found, say)
    if arguments.json is not None:
        _write(arguments.json, format_json(found).encode(), found, say)
    return found.exit_code


def _write(file: Path, content: bytes, found: Audit, say: Callable[[str], None]) -> None:
    inputs = [row.report.path for row in found.rows]
    inputs += [report.path for report in found.older] + [bad.path for bad in found.bad_files]
    if file.resolve() in {path.resolve() for path in inputs}:
        raise UsageError(f"{file}: is one of the reports, and would be overwritten", fix="name another file")
    try:
        file.write_bytes(content)
    except OSError as error:
        raise UsageError(f"{file}: cannot be written: {error.strerror}", fix="name a file you can write") from error
    say(f"written: {file}")
