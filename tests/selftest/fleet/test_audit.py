"""Auditing a fleet: what counts, who is silent, and the exit code."""

import shutil
from pathlib import Path

import pytest

from streamworthy.errors import UsageError
from streamworthy.fleet.audit import audit, read_inventory
from streamworthy.verdict import Closing
from tests.selftest.fleet.test_read import REPORTS, rewritten


def audited(*names, inventory=None):
    """Audit fixtures."""
    return audit([REPORTS / name for name in names], inventory)


def inventory(folder, text):
    """Write an inventory file."""
    file = folder / "inventory.txt"
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (["qualified.xml"], 0),
        (["qualified.xml", "waived.xml"], 0),
        (["qualified.xml", "not-qualified.xml"], 1),
        (["undecided.xml", "not-qualified.xml"], 1),
        (["qualified.xml", "undecided.xml"], 10),
        (["qualified.xml", "partial.xml"], 10),
        (["partial.xml"], 10),
        (["qualified.xml", "broken-truncated.xml"], 10),
        (["qualified.xml", "foreign-pytest.xml"], 10),
        (["qualified.xml", "no-such-file.xml"], 10),
        (["qualified.xml", "contradictory-cases-cut-out.xml"], 10),
        (["qualified.xml", "contradictory-qualified-with-failure.xml"], 1),
        ([], 10),
    ],
)
def test_exit_codes(names, code):
    """0 only when every report is QUALIFIED and every file could be read; 1 when one is NOT QUALIFIED; else 10."""
    assert audited(*names).exit_code == code


def test_a_row_holds_what_is_open():
    """A machine's row names its failing gates first, then the open ones."""
    (row,) = audited("not-qualified.xml").rows
    assert (row.machine, row.closing, [case.gate for case in row.open_cases]) == (
        "lab-02",
        Closing.NOT_QUALIFIED,
        ["storage.rotational", "decode.cold_rate", "integrity.hashes"],
    )


@pytest.mark.parametrize("order", [1, -1])
def test_the_newest_report_counts(order):
    """Of several reports of one machine the newest counts, in whatever order they come; the older is told."""
    names = ["older-not-qualified-of-lab-01.xml", "qualified.xml"][::order]
    found = audited(*names)
    assert [(row.machine, row.closing) for row in found.rows] == [("lab-01", Closing.QUALIFIED)]
    assert [report.path.name for report in found.older] == ["older-not-qualified-of-lab-01.xml"]
    assert found.exit_code == 0


@pytest.mark.parametrize(
    ("date", "newest"),
    [
        ("2026-01-31T11:59:59+00:00", Closing.QUALIFIED),
        ("2026-01-31T12:00:00+00:00", Closing.NOT_QUALIFIED),
        ("2026-01-31T12:00:01+00:00", Closing.NOT_QUALIFIED),
        ("2026-01-31T12:59:59+01:00", Closing.QUALIFIED),
        ("2026-01-31T13:00:01+01:00", Closing.NOT_QUALIFIED),
        ("2026-01-31T12:00:01", Closing.NOT_QUALIFIED),
    ],
)
def test_newest_across_time_zones(tmp_path, date, newest):
    """Dates are compared as moments; of two reports of one moment the worse counts."""
    other = rewritten(tmp_path, "2026-01-30T12:00:00+00:00", date, name="older-not-qualified-of-lab-01.xml")
    (row,) = audit([REPORTS / "qualified.xml", other], None).rows
    assert row.closing is newest


def test_a_machine_judged_for_two_models_has_two_rows(tmp_path):
    """A verdict binds a model: a report about one does not replace a report about another."""
    other = rewritten(tmp_path, "GLM-Q4_K_M", "Other", name="older-not-qualified-of-lab-01.xml")
    found = audit([REPORTS / "qualified.xml", other], None)
    assert [(row.closing, row.report.get("model")) for row in found.rows] == [
        (Closing.QUALIFIED, "GLM-Q4_K_M"),
        (Closing.NOT_QUALIFIED, "Other"),
    ]


def test_one_file_named_twice_is_one_report():
    """A report that two patterns name does not replace itself."""
    found = audited("qualified.xml", "../reports/qualified.xml")
    assert (len(found.rows), found.older) == (1, ())


def test_a_folder_is_searched(tmp_path):
    """A folder stands for every junit.xml below it."""
    for name in ("qualified", "undecided"):
        (tmp_path / name).mkdir()
        shutil.copy(REPORTS / f"{name}.xml", tmp_path / name / "junit.xml")
    shutil.copy(REPORTS / "foreign-pytest.xml", tmp_path / "other.xml")
    found = audit([tmp_path], None)
    assert ([row.machine for row in found.rows], found.bad_files) == (["lab-01", "lab-03"], ())


def test_silent_machines(tmp_path):
    """A machine of the inventory without a report is silent, and the fleet not qualified."""
    found = audited("qualified.xml", inventory=inventory(tmp_path, "lab-01\nlab-99\n"))
    assert (found.silent, found.exit_code) == (("lab-99",), 1)


def test_a_machine_whose_report_is_broken_is_silent(tmp_path):
    """A report that cannot be read does not speak for its machine."""
    found = audited("broken-truncated.xml", inventory=inventory(tmp_path, "lab-01"))
    assert (found.silent, found.exit_code) == (("lab-01",), 1)


def test_names_are_compared_without_case(tmp_path):
    """Host names have no case."""
    found = audited("qualified.xml", inventory=inventory(tmp_path, "LAB-01"))
    assert (found.silent, found.rows[0].listed, found.exit_code) == ((), True, 0)


def test_a_machine_outside_the_inventory(tmp_path):
    """A report of a machine that is not listed counts, and is marked."""
    found = audited("qualified.xml", "waived.xml", inventory=inventory(tmp_path, "lab-01"))
    assert [(row.machine, row.listed) for row in found.rows] == [("lab-01", True), ("lab-05", False)]


@pytest.mark.parametrize(
    ("text", "machines"),
    [
        ("a\nb\n", ("a", "b")),
        ("\ufeffa\r\nb\r\n", ("a", "b")),
        ("# all of them\n\n  a  # the first\nb", ("a", "b")),
        ("a\nA\na\n", ("a",)),
    ],
)
def test_inventories(tmp_path, text, machines):
    """One name a line; comments, blank lines, Windows line ends and repetitions do not matter."""
    assert [name.casefold() for name in read_inventory(inventory(tmp_path, text))] == list(machines)


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", "found no machine"),
        (b"# none\n", "found no machine"),
        (b"\xff\xfe", "not UTF-8"),
        (b"a b\n", "found 'a b'"),
    ],
)
def test_bad_inventories(tmp_path, data, fault):
    """An inventory that lists nothing, or is none, is a usage error that names it."""
    file = tmp_path / "inventory.txt"
    file.write_bytes(data)
    with pytest.raises(UsageError, match=rf"inventory\.txt: {fault}"):
        read_inventory(file)


def test_no_inventory():
    """An inventory that is not there is a usage error, not an empty fleet."""
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_inventory(Path("/nonexistent/inventory"))
