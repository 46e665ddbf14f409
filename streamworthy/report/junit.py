"""Finish the JUnit file that pytest wrote: suite properties, no host names when asked, checked against our schema.

junit-10.xsd (Jenkins xUnit) knows no properties in a test case; ``junit.xsd`` beside this file does.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree.ElementTree import ParseError as XmlError
from xml.sax.saxutils import escape

from streamworthy.errors import ProbeError
from streamworthy.report.identity import hide

if TYPE_CHECKING:
    from collections.abc import Mapping

_ILLEGAL = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SCHEMA = Path(__file__).with_name("junit.xsd")


def finish_junit(path: Path, properties: Mapping[str, str], hidden: Mapping[str, str]) -> None:
    """Add ``properties`` to the suite, write ``hidden`` texts (host names, home folders) and check the result.

    The file is replaced in one step. ProbeError when pytest's file is not there, not XML, or not what we promise.
    """
    from junitparser import JUnitXml

    new = path.with_suffix(".xml.new")
    try:
        new.write_text(hide(path.read_text(encoding="utf-8"), _escaped(hidden)), encoding="utf-8")
        xml = JUnitXml.fromfile(str(new))
        for suite in xml:
            for case in [case for case in suite if case.name is None and not case.result]:
                suite.remove_testcase(case)  # pytest leaves an empty one where Ctrl-C ended a test
            for name, value in properties.items():
                suite.add_property(name, _legal(value))
        xml.write(str(new))
        check_junit(new)
        new.replace(path)
    except (OSError, XmlError) as error:
        raise ProbeError(f"{path}: the report could not be finished: {error}") from error
    finally:
        new.unlink(missing_ok=True)


def _legal(text: str) -> str:
    """Write what XML 1.0 cannot hold as pytest does: bytes of a name that are not UTF-8, and control characters."""
    return _ILLEGAL.sub(lambda found: f"#x{ord(found[0]):02X}", text)


def _escaped(hidden: Mapping[str, str]) -> dict[str, str]:
    """Write names as they stand in XML, in texts and in attributes."""
    quotes: tuple[dict[str, str], ...] = ({}, {'"': "&quot;"})
    return {escape(name, more): escape(stand_in, more) for name, stand_in in hidden.items() for more in quotes}


def check_junit(path: Path) -> None:
    """Check a JUnit file against the schema; ProbeError names the first thing that is wrong, and where."""
    import xmlschema

    fault = next(xmlschema.XMLSchema(str(SCHEMA)).iter_errors(str(path)), None)
    if fault is not None:
        raise ProbeError(f"{path}: not the promised JUnit: {fault.reason} at {fault.path}", fix="report this as a bug")
