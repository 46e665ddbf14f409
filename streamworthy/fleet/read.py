"""Reads JUnit reports that this suite wrote, and says of every other file why it is not one.

Reports come from other machines: size, depth and document types are bounded before they are parsed, since an XML
document may expand to gigabytes (expat documentation, "billion laughs attack").
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from xml.parsers import expat

from junitparser import JUnitXml, JUnitXmlError, Properties

from streamworthy.verdict import Closing, Word

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from junitparser import TestCase, TestSuite

_LARGEST_FILE = 32 * 2**20  # a merged report of a thousand machines
_DEEPEST = 32
_ELEMENTS = {  # what pytest writes for a word; a report whose two drawers contradict each other was edited or broken
    Word.PASS: (),
    Word.ADVICE: (),
    Word.FAIL: ("failure",),
    Word.INCONCLUSIVE: ("error",),
    Word.ERROR: ("error",),
    Word.WAIVED: ("skipped",),
    Word.NOT_APPLICABLE: ("skipped",),
}
_WORDS = {"failure": Word.FAIL, "error": Word.ERROR, "skipped": Word.NOT_APPLICABLE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One gate of a report."""

    gate: str
    word: Word
    measured: str  # empty when the report does not tell
    cause: str
    elements: tuple[str, ...]  # the tags pytest wrote: failure, error, skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One machine's qualification as its report states it."""

    path: Path
    host: str
    closing: Closing
    date: datetime  # with a time zone
    properties: Mapping[str, str]
    cases: tuple[Case, ...]
    contradictions: tuple[str, ...]  # one line each; empty for a sound report
    suite_xml: bytes  # the suite as it was read, to be merged

    def get(self, name: str) -> str:
        """Give a suite property, "unknown" when the report does not have it."""
        return self.properties.get(name) or "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class BadFile:
    """A file, or one suite in it, that is no report of this suite."""

    path: Path
    kind: str  # "broken" or "foreign"
    reason: str


class _RefusedError(Exception):
    pass


def read_reports(path: Path) -> tuple[Report | BadFile, ...]:
    """Read the reports of one file, one for each suite in it. Raises nothing: a bad file is part of the answer."""
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST_FILE + 1)
        xml = _parse(data)
    except OSError as error:
        return (_broken(path, f"cannot be read: {error.strerror}"),)
    except (_RefusedError, expat.ExpatError, SyntaxError, ValueError, LookupError) as error:
        return (_broken(path, str(error)),)
    if xml is None:
        return (BadFile(path=path, kind="foreign", reason="XML, but not JUnit"),)
    suites = list(xml)
    if not suites:
        return (BadFile(path=path, kind="foreign", reason="JUnit without a suite"),)
    return tuple(_read_suite(path, suite) for suite in suites)


def _broken(path: Path, reason: str) -> BadFile:
    return BadFile(path=path, kind="broken", reason=" ".join(reason.split()))


def _parse(data: bytes) -> JUnitXml | None:
    if not data.strip():
        raise _RefusedError("an empty file")
    if len(data) > _LARGEST_FILE:
        raise _RefusedError("larger than any report")
    _refuse_dangers(data)
    try:
        return JUnitXml.fromstring(data)
    except JUnitXmlError:
        return None


def _refuse_dangers(data: bytes) -> None:
    """Walk the document once without building it: no document type (entities), no bottomless nesting."""
    depth = 0

    def begin(_name: str, _attributes: Mapping[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            raise _RefusedError(f"nested more than {_DEEPEST} deep")

    def end(_name: str) -> None:
        nonlocal depth
        depth -= 1

    def refuse(name: str, *_declaration: object) -> None:
        page = name.casefold() == "html"
        raise _RefusedError("a web page" if page else "a document type declaration, which no report has")

    parser = expat.ParserCreate()
    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = refuse
    parser.Parse(data, True)


def _read_suite(path: Path, suite: TestSuite) -> Report | BadFile:
    properties = {entry.name: entry.value or "" for entry in suite.properties() if entry.name}
    stated = properties.get("verdict")
    if stated is None:
        name = suite.name or "without a name"
        return BadFile(path=path, kind="foreign", reason=f"suite {name!r} has no verdict: not a report of this suite")
    if stated not in tuple(Closing):
        return _broken(path, f"found verdict {stated!r}, expected one of {', '.join(Closing)}")
    host = properties.get("host") or suite.hostname
    if not host:
        return _broken(path, "the report names no host")
    date = _parse_date(properties.get("date") or suite.timestamp or "")
    if date is None:
        return _broken(
            path, f"found date {properties.get('date') or suite.timestamp!r}, expected one as 2026-01-31T12:00"
        )
    try:
        cases = tuple(_read_case(case) for case in suite)
    except ValueError as error:
        return _broken(path, f"found a case whose time is no number: {error}")
    closing = Closing(stated)
    return Report(
        path=path,
        host=host,
        closing=closing,
        date=date,
        properties=properties,
        cases=cases,
        contradictions=(*_count_contradictions(suite, cases), *find_contradictions(closing, properties, cases)),
        suite_xml=suite.tostring(),
    )


def _parse_date(text: str) -> datetime | None:
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def _read_case(case: TestCase) -> Case:
    holder = case.child(Properties)
    properties = {entry.name: entry.value or "" for entry in holder} if holder is not None else {}
    results = case.result
    if not math.isfinite(case.time or 0.0):
        raise ValueError(str(case.time))
    elements = tuple(str(result._elem.tag) for result in results)  # noqa: SLF001 - the tag has no public name
    stated = properties.get("status")
    if stated in tuple(Word):
        word = Word(stated)
    else:  # nothing authoritative: what pytest wrote, and an unknown where that would be a pass
        word = next((_WORDS[element] for element in ("failure", "error", "skipped") if element in elements), Word.ERROR)
    told = properties.get("cause") or next((result.message for result in results if result.message), "")
    return Case(
        gate=properties.get("gate") or case.name or "unknown",
        word=word,
        measured=properties.get("measured", ""),
        cause=" ".join(told.split()),
        elements=elements,
    )


def _count_contradictions(suite: TestSuite, cases: tuple[Case, ...]) -> tuple[str, ...]:
    """Compare the suite's own counts, which pytest writes, with what is there: cases may have been cut out.

    There may be more: pytest counts a test once that fails twice, in its body and when it is torn down.
    """
    found = []
    for name, there in (
        ("tests", len(cases)),
        ("failures", sum("failure" in case.elements for case in cases)),
        ("errors", sum("error" in case.elements for case in cases)),
    ):
        stated = suite._elem.attrib.get(name)  # noqa: SLF001 - the accessor writes the count when it is absent
        if stated is not None and not (stated.isdecimal() and int(stated) <= there):
            found.append(f"the suite counts {stated} {name}, {there} are there")
    return tuple(found)


def find_contradictions(closing: Closing, properties: Mapping[str, str], cases: tuple[Case, ...]) -> tuple[str, ...]:
    """Say where a report's verdict and its cases cannot both be true, one line each."""
    found = [
        f"{case.gate} says {case.word} and has {' and '.join(f'<{name}>' for name in case.elements) or 'no result'}"
        for case in cases
        if tuple(dict.fromkeys(case.elements)) != _ELEMENTS[case.word]
    ]
    failing = [case.gate for case in cases if case.word is Word.FAIL]
    open_ = [case.gate for case in cases if case.word in (Word.ERROR, Word.INCONCLUSIVE)]
    good = closing in (Closing.QUALIFIED, Closing.PARTIAL)
    if failing and closing is not Closing.NOT_QUALIFIED:
        found.append(f"{closing} although {failing[0]} is FAIL")
    elif open_ and good:
        found.append(f"{closing} although {open_[0]} is open")
    if closing is Closing.NOT_QUALIFIED and not failing:
        found.append(f"{closing} although no gate is FAIL")
    if good and not any(case.word in (Word.PASS, Word.ADVICE, Word.WAIVED) for case in cases):
        found.append(f"{closing} although nothing was checked")
    if closing is Closing.QUALIFIED and properties.get("complete", "true") != "true":
        found.append(f"{closing} although only a part was asked")
    return tuple(found)
