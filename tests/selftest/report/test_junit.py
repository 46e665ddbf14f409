"""The JUnit file after pytest has written it."""

from __future__ import annotations

import pytest
from junitparser import JUnitXml

from streamworthy.errors import ProbeError
from streamworthy.report.junit import check_junit, finish_junit

SOUND = """<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite name="pytest" errors="0" \
failures="1" skipped="0" tests="1" time="0.1" timestamp="2026-01-02T03:04:05.678901+00:00" hostname="vm">\
<testcase classname="tests.gates.host.test_memory" name="test_total" time="0.1"><properties>\
<property name="gate" value="memory.total"/></properties><failure message="kvm on vm: /home/ada/x">text</failure>\
</testcase></testsuite></testsuites>"""


@pytest.fixture
def junit(tmp_path):
    """A file as pytest writes it."""
    path = tmp_path / "junit.xml"
    path.write_text(SOUND, encoding="utf-8")
    return path


def test_suite_properties_are_added_and_read_back(junit):
    """The suite's properties come out of junitparser as they were put in."""
    finish_junit(junit, {"verdict": "NOT QUALIFIED", "host": "vm & co"}, {})
    (suite,) = JUnitXml.fromfile(str(junit))
    assert {prop.name: prop.value for prop in suite.properties()} == {"verdict": "NOT QUALIFIED", "host": "vm & co"}


def test_what_xml_cannot_hold_is_written_as_pytest_does(junit):
    """The name of a model is its files', which may be Latin-1 or hold a bell."""
    finish_junit(junit, {"model": "mod\udce8le \a \u6a21"}, {})
    (suite,) = JUnitXml.fromfile(str(junit))
    assert [prop.value for prop in suite.properties()] == ["mod#xDCE8le #x07 \u6a21"]


def test_names_are_hidden_everywhere_and_only_as_whole_words(junit):
    """A hidden host name vanishes from attributes and texts; a word that contains it stays."""
    finish_junit(junit, {}, {"vm": "host-1", "/home/ada": "~", "ada": "user"})
    text = junit.read_text(encoding="utf-8")
    assert 'hostname="host-1"' in text
    assert "kvm on host-1: ~/x" in text


def test_the_case_that_was_interrupted_is_left_out(junit):
    """pytest leaves a case without a name where Ctrl-C ended a test: the file is whole without it."""
    junit.write_text(SOUND.replace("</testsuite>", '<testcase time="0.000"/></testsuite>'))
    finish_junit(junit, {}, {})
    (suite,) = JUnitXml.fromfile(str(junit))
    assert [case.name for case in suite] == ["test_total"]
    assert suite.tests == 1


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('name="test_total"', "", "name"),
        ("<failure", "<failed", "failed"),
        ('tests="1"', 'tests="many"', "many"),
        ("</testsuites>", "", "could not be finished"),
    ],
)
def test_a_file_that_breaks_the_promise_is_named(junit, old, new, told):
    """What does not match the schema is an error that says what and where, and leaves pytest's file alone."""
    junit.write_text(
        broken := SOUND.replace(old, new).replace("</failure>", "</failed>" if "failed" in new else "</failure>")
    )
    with pytest.raises(ProbeError, match=told):
        finish_junit(junit, {"verdict": "PARTIAL"}, {})
    assert junit.read_text() == broken
    assert [file.name for file in junit.parent.iterdir()] == ["junit.xml"]


def test_a_missing_file_is_named(tmp_path):
    """Where pytest wrote nothing, the message names the file."""
    with pytest.raises(ProbeError, match=r"junit\.xml"):
        finish_junit(tmp_path / "junit.xml", {}, {})


def test_the_sound_file_passes_the_schema(junit):
    """The schema accepts what pytest writes."""
    check_junit(junit)
