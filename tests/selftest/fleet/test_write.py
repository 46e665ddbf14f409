"""Writing an audit: the table, CSV and JSON."""

import csv
import io
import json

import pytest

from streamworthy.fleet.audit import audit
from streamworthy.fleet.write import format_csv, format_json, format_text
from tests.selftest.fleet.test_audit import audited, inventory
from tests.selftest.fleet.test_read import REPORTS, rewritten

TABLE = f"""\
machine  verdict        tier        model       date
lab-01   QUALIFIED      laptop-32g  GLM-Q4_K_M  2026-01-31 12:00
lab-02   NOT QUALIFIED  laptop-32g  GLM-Q4_K_M  2026-01-31 12:00
    FAIL storage.rotational: sda rotates: the model lies on a spinning disk (sda, SATA)
    FAIL decode.cold_rate: 0.004 tok/s: the disk gives 96.0 MB/s, the model needs 1.2 GB/s
    error integrity.hashes: content not verified: no manifest for 7 shards; wrong bytes of the right size load and run
lab-04   PARTIAL        laptop-32g  GLM-Q4_K_M  2026-01-31 12:00
    not a whole qualification: GLM-Q4_K_M on lab-04, tier laptop-32g, depth standard; 1 of 44 gates
    not in the inventory
lab-08   UNDECIDED      laptop-32g  GLM-Q4_K_M  2026-01-31 12:00
    inconsistent report: the suite counts 3 tests, 2 are there
    inconsistent report: the suite counts 1 failures, 0 are there
    not in the inventory
lab-99   silent         -           -           -
    in the inventory, and no report of it could be read
older, not counted: {REPORTS}/older-not-qualified-of-lab-01.xml: lab-01 NOT QUALIFIED of 2026-01-30 12:00
broken, not counted: {REPORTS}/broken-empty.xml: an empty file
foreign, not counted: {REPORTS}/foreign-pytest.xml: suite 'pytest' has no verdict: not a report of this suite

fleet: 1 of 5 qualified: 1 QUALIFIED, 1 NOT QUALIFIED, 1 UNDECIDED, 1 PARTIAL, 1 silent, 2 not readable as a report"""


@pytest.fixture
def fleet(tmp_path):
    """One of everything."""
    return audited(
        "qualified.xml",
        "not-qualified.xml",
        "partial.xml",
        "contradictory-cases-cut-out.xml",
        "older-not-qualified-of-lab-01.xml",
        "broken-empty.xml",
        "foreign-pytest.xml",
        inventory=inventory(tmp_path, "lab-01\nlab-02\nlab-99\n"),
    )


def test_the_table(fleet):
    """Each machine has its verdict, with causes below, and everything that was not counted is named."""
    assert format_text(fleet) == TABLE


def test_an_empty_fleet():
    """Without a report the closing line says so."""
    assert format_text(audited()).endswith("fleet: 0 of 0 qualified: nothing was read")


def test_csv_is_read_back(fleet):
    """Each machine is one line; commas and quotes in causes do not break it."""
    rows = list(csv.DictReader(io.StringIO(format_csv(fleet))))
    assert [(row["machine"], row["verdict"], row["failing"], row["open"]) for row in rows] == [
        ("lab-01", "QUALIFIED", "", ""),
        ("lab-02", "NOT QUALIFIED", "storage.rotational decode.cold_rate", "integrity.hashes"),
        ("lab-04", "PARTIAL", "", ""),
        ("lab-08", "UNDECIDED", "", ""),
        ("lab-99", "silent", "", ""),
    ]


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(1)", "'@SUM(1)"),
        ("&#9;=1", "'=1"),
        ("lab\u202e-01", "lab?-01"),
    ],
)
def test_no_cell_is_a_formula(tmp_path, name, cell):
    """A host name from another machine's report is never run by a spreadsheet."""
    file = rewritten(tmp_path, 'name="host" value="lab-01"', f'name="host" value="{name}"')
    (row,) = csv.DictReader(io.StringIO(format_csv(audit([file], None))))
    assert row["machine"] == cell


def test_no_control_code_reaches_a_terminal(tmp_path):
    """C1 control codes, which XML permits, are not printed."""
    file = rewritten(tmp_path, 'name="host" value="lab-01"', 'name="host" value="lab\u009b31m"')
    assert "\u009b" not in format_text(audit([file], None))


def test_json_is_read_back(fleet):
    """The JSON holds all that was read, and the exit code."""
    content = json.loads(format_json(fleet))
    assert content["exit_code"] == 1
    assert [(machine["machine"], machine["verdict"]) for machine in content["machines"]] == [
        ("lab-01", "QUALIFIED"),
        ("lab-02", "NOT QUALIFIED"),
        ("lab-04", "PARTIAL"),
        ("lab-08", "UNDECIDED"),
    ]
    assert content["machines"][1]["open"][0] == {
        "gate": "storage.rotational",
        "status": "FAIL",
        "measured": "sda rotates",
        "cause": "the model lies on a spinning disk (sda, SATA)",
    }
    assert (content["silent"], len(content["older"]), len(content["bad_files"])) == (["lab-99"], 1, 2)
