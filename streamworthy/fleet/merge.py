"""Merges an audit's reports into one JUnit: what a dashboard shows as one fleet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from junitparser import Error, JUnitXml, Properties, Property, TestCase, TestSuite

from streamworthy.fleet.write import NO_REPORT, plain
from streamworthy.verdict import Closing, Word

if TYPE_CHECKING:
    from datetime import datetime

    from streamworthy.fleet.audit import Audit, Row


def format_junit(audit: Audit, *, written: datetime) -> bytes:
    """Write the counted reports, a suite each, as UTF-8 XML.

    A machine that is silent, a file that could not be read and a report that contradicts itself have an error of their
    own, so that the merged file is red wherever the audit is. ``written`` is their time.
    """
    merged = JUnitXml("streamworthy fleet")
    for row in audit.rows:
        merged.append(_suite_of(row))
    for machine in audit.silent:
        merged.append(_suite_of_an_error(machine, "fleet.silent", NO_REPORT, written))
    for bad in audit.bad_files:
        merged.append(_suite_of_an_error(str(bad.path), f"fleet.{bad.kind}", bad.reason, written))
    merged.update_statistics()
    return b"<?xml version='1.0' encoding='utf-8'?>\n" + bytes(merged.tostring())


def _suite_of(row: Row) -> TestSuite:
    suite: TestSuite = TestSuite.fromstring(row.report.suite_xml.decode())
    suite.name = f"{row.machine} {row.report.get('tier')}"
    if row.report.contradictions:
        suite.append(_error_case("fleet.inconsistent", "; ".join(row.report.contradictions)))
    return suite


def _suite_of_an_error(name: str, gate: str, reason: str, written: datetime) -> TestSuite:
    suite = TestSuite(plain(name))
    suite.hostname = plain(name)
    suite.timestamp = written.isoformat(timespec="seconds")
    suite.add_property("verdict", str(Closing.UNDECIDED))
    suite.append(_error_case(gate, reason))
    return suite


def _error_case(gate: str, reason: str) -> TestCase:
    case = TestCase(gate, "fleet", 0.0)
    properties = Properties()
    for name, value in (("gate", gate), ("status", str(Word.ERROR)), ("cause", plain(reason))):
        properties.add_property(Property(name, value))
    case.append(properties)
    case.append(Error(plain(reason)))
    return case
