"""Merging reports into one JUnit."""

from datetime import UTC, datetime

from junitparser import JUnitXml

from streamworthy.fleet.audit import audit
from streamworthy.fleet.merge import format_junit
from streamworthy.report.junit import check_junit
from tests.selftest.fleet.test_audit import audited, inventory

NOW = datetime(2026, 2, 1, tzinfo=UTC)


def merged(folder, found):
    """Write an audit's JUnit, check it against the schema, and give its path."""
    file = folder / "fleet.xml"
    file.write_bytes(format_junit(found, written=NOW))
    check_junit(file)
    return file


def test_counted_reports_keep_their_properties(tmp_path):
    """A merged file is a suite for each machine, and audits as its parts do."""
    parts = audited("qualified.xml", "not-qualified.xml", "undecided.xml")
    whole = audit([merged(tmp_path, parts)], None)
    assert [(row.machine, row.closing, row.report.properties, row.open_cases) for row in whole.rows] == [
        (row.machine, row.closing, row.report.properties, row.open_cases) for row in parts.rows
    ]
    assert whole.exit_code == parts.exit_code


def test_counts_and_names(tmp_path):
    """The suites are named after machine and tier, and the counts are right."""
    xml = JUnitXml.fromfile(str(merged(tmp_path, audited("qualified.xml", "not-qualified.xml"))))
    assert [suite.name for suite in xml] == ["lab-01 laptop-32g", "lab-02 laptop-32g"]
    assert (xml.tests, xml.failures, xml.errors, xml.skipped) == (9, 2, 1, 1)


def test_what_is_missing_is_red(tmp_path):
    """A silent machine, a file that could not be read and a contradiction are each an error in the merged file."""
    found = audited(
        "broken-empty.xml", "contradictory-cases-cut-out.xml", inventory=inventory(tmp_path, "lab-08\nlab-99")
    )
    xml = JUnitXml.fromfile(str(merged(tmp_path, found)))
    errors = [case.name for suite in xml for case in suite if case.is_error]
    assert errors == ["fleet.inconsistent", "fleet.silent", "fleet.broken"]


def test_an_empty_fleet():
    """Without a report there is still a well-formed file."""
    assert list(JUnitXml.fromstring(format_junit(audited(), written=NOW))) == []
