"""Reading reports: sound ones whole, and a reason for every file that is none."""

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from streamworthy.fleet.read import BadFile, Case, Report, read_reports
from streamworthy.report.junit import check_junit
from streamworthy.verdict import Closing, Word

REPORTS = Path(__file__).parents[3] / "fixtures" / "reports"
BOMB_SIZE = 20 * 2**20


def names(pattern):
    """List the fixtures of a kind; there have to be some."""
    found = sorted(path.name for path in REPORTS.glob(pattern))
    assert found
    return found


def read(name):
    """Read the one report, or the one bad file, of a fixture."""
    (found,) = read_reports(REPORTS / name)
    return found


def rewritten(folder, old, new, name="qualified.xml"):
    """Write a sound report with one change."""
    text = (REPORTS / name).read_text()
    assert old in text
    file = folder / "junit.xml"
    file.write_text(text.replace(old, new))
    return file


def test_a_sound_report():
    """A report is read whole: what it binds, and each gate's word."""
    found = read("undecided.xml")
    assert found == Report(
        path=REPORTS / "undecided.xml",
        host="lab-03",
        closing=Closing.UNDECIDED,
        date=datetime(2026, 1, 31, 12, tzinfo=UTC),
        properties=found.properties,
        cases=(
            Case(gate="memory.total", word=Word.PASS, measured="31.1 GiB", cause="", elements=()),
            Case(
                gate="integrity.hashes",
                word=Word.ERROR,
                measured="unknown",
                cause="content not verified: no manifest for 7 shards; wrong bytes of the right size load and run",
                elements=("error",),
            ),
            Case(
                gate="decode.cold_rate",
                word=Word.INCONCLUSIVE,
                measured="0.051 tok/s",
                cause="updatedb (pid 4711) reads the device",
                elements=("error",),
            ),
        ),
        contradictions=(),
        suite_xml=found.suite_xml,
    )
    assert (found.get("tier"), found.get("colour")) == ("laptop-32g", "unknown")


@pytest.mark.parametrize("name", [name for name in names("*.xml") if "-" not in name or name.startswith("not-")])
def test_the_sound_fixtures_keep_the_schema(name):
    """The sound fixtures are what the suite itself promises to write, and contradict nothing."""
    check_junit(REPORTS / name)
    assert read(name).contradictions == ()


@pytest.mark.parametrize("name", names("contradictory-*.xml"))
def test_a_contradictory_report_is_seen(name):
    """A report whose verdict and cases cannot both be true says where."""
    assert read(name).contradictions


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('value="QUALIFIED"', 'value="NOT QUALIFIED"', "NOT QUALIFIED although no gate is FAIL"),
        ('"complete" value="true"', '"complete" value="false"', "QUALIFIED although only a part was asked"),
        ('"status" value="advice"', '"status" value="error"', "memory.swap_size says error and has no result"),
        ('"status" value="n/a"', '"status" value="pass"', "memory.memlock says pass and has <skipped>"),
        ('"status" value="pass"', '"status" value="fine"', "memory.total says error and has no result"),
        ('tests="5"', 'tests="6"', "the suite counts 6 tests, 5 are there"),
        ('tests="5"', 'tests="many"', "the suite counts many tests, 5 are there"),
    ],
)
def test_contradictions(tmp_path, old, new, fault):
    """One change to a qualified report is enough to doubt it."""
    (found,) = read_reports(rewritten(tmp_path, old, new))
    assert fault in found.contradictions


def test_fewer_counted_than_there(tmp_path):
    """Pytest counts a test once that fails in its body and again when torn down: no contradiction."""
    (found,) = read_reports(rewritten(tmp_path, 'tests="5"', 'tests="4"'))
    assert found.contradictions == ()


@pytest.mark.parametrize(
    ("name", "kind", "reason"),
    [
        ("broken-empty.xml", "broken", "an empty file"),
        ("broken-truncated.xml", "broken", "unclosed token: line 23, column 178"),
        ("broken-web-page.xml", "broken", "a web page"),
        ("broken-entity-bomb.xml", "broken", "a document type declaration, which no report has"),
        (
            "broken-verdict.xml",
            "broken",
            "found verdict 'qualified', expected one of QUALIFIED, NOT QUALIFIED, UNDECIDED, PARTIAL",
        ),
        ("foreign-not-junit.xml", "foreign", "XML, but not JUnit"),
        ("foreign-pytest.xml", "foreign", "suite 'pytest' has no verdict: not a report of this suite"),
        ("nothing.xml", "broken", "cannot be read: No such file or directory"),
    ],
)
def test_bad_files(name, kind, reason):
    """A file that is no report says in one line why."""
    assert read(name) == BadFile(path=REPORTS / name, kind=kind, reason=reason)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('name="date" value="2026-01-31T12:00:00+00:00"', 'name="date" value="soon"', "found date 'soon'"),
        ('time="0.012"', 'time="long"', "time is no number"),
        ('time="0.012"', 'time="nan"', "time is no number"),
        ("utf-8", "no-such-encoding", "unknown encoding"),
        ("</testsuites>", "<a>" * 40 + "</a>" * 40 + "</testsuites>", "nested more than 32 deep"),
        ("31.1 GiB", "\x1b[31m", "not well-formed"),
    ],
)
def test_one_change_that_breaks_a_report(tmp_path, old, new, reason):
    """Whatever is broken in a report is named, and nothing is raised."""
    (found,) = read_reports(rewritten(tmp_path, old, new))
    assert isinstance(found, BadFile)
    assert found.kind == "broken"
    assert reason in found.reason


def test_a_truncated_report_is_a_bad_file(tmp_path):
    """A report that was cut, in its head, its end or anywhere between, is never a report."""
    data = (REPORTS / "partial.xml").read_bytes().rstrip()
    file = tmp_path / "junit.xml"
    for length in (*range(150), *range(150, len(data) - 50, 13), *range(len(data) - 50, len(data))):
        file.write_bytes(data[:length])
        assert all(isinstance(found, BadFile) for found in read_reports(file)), length


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_an_entity_bomb_in_any_encoding_is_refused_at_once(tmp_path, encoding):
    """Entities are refused before they expand, also where the text hides their declaration from a plain search."""
    text = (REPORTS / "broken-entity-bomb.xml").read_text().replace("?>", f' encoding="{encoding}"?>', 1)
    file = tmp_path / "junit.xml"
    file.write_bytes(text.encode(encoding))
    begin = time.monotonic()
    (found,) = read_reports(file)
    assert found.reason == "a document type declaration, which no report has"
    assert time.monotonic() - begin < 2


def test_a_very_large_file_is_not_read(tmp_path):
    """More than any report holds is refused unread."""
    file = tmp_path / "junit.xml"
    with file.open("wb") as out:
        out.truncate(2**40)
    (found,) = read_reports(file)
    assert found.reason == "larger than any report"


@pytest.mark.parametrize("attack", ["<a" + " b='c'" * 2_000_000, "<" + "a" * BOMB_SIZE, "<a b='" + "c" * BOMB_SIZE])
def test_long_tokens_end_soon(tmp_path, attack):
    """A token without an end costs no more than its length."""
    file = tmp_path / "junit.xml"
    file.write_text(attack)
    begin = time.monotonic()
    (found,) = read_reports(file)
    assert found.kind == "broken"
    assert time.monotonic() - begin < 10


def test_several_suites_in_one_file(tmp_path):
    """A merged file is a report for each of its suites."""
    text = (REPORTS / "qualified.xml").read_text()
    suite = text[text.index("<testsuite ") : text.index("</testsuites>")]
    file = tmp_path / "junit.xml"
    file.write_text(text.replace(suite, suite + suite.replace("lab-01", "lab-11")))
    assert [report.host for report in read_reports(file)] == ["lab-01", "lab-11"]
