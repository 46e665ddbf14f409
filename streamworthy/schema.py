"""TOML tables with a fixed set of keys: read strictly, all faults of a file at once, each with file and key."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from streamworthy.errors import UsageError
from streamworthy.units import SHARE, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from streamworthy.criteria.spec import Bound


def _parse_text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("words between quotes")
    return " ".join(value.split())


def choice(*words: str) -> Kind:
    """Make a kind that is one of some words."""

    def parse(value: object) -> str:
        if not isinstance(value, str) or value not in words:
            raise ValueError(", ".join(repr(word) for word in words))
        return value

    return Kind(unit="one of", parse=parse, format=str)


def either(kind: Kind, named: Mapping[str, object]) -> Kind:
    """Make a kind that is a quantity or one of some words that stand for a value."""

    def parse(value: object) -> object:
        if isinstance(value, str) and value in named:
            return named[value]
        try:
            return kind.parse(value)
        except ValueError as error:
            raise ValueError(", ".join([*(repr(word) for word in named), str(error)])) from error

    return Kind(unit=kind.unit, parse=parse, format=kind.format)


TEXT = Kind(unit="text", parse=_parse_text, format=str)


class Faults:
    """Collects what is wrong with one file, one line each: file, key, found, expected."""

    def __init__(self, file: str) -> None:
        """Begin with none; ``file`` is how messages name the file."""
        self.file = file
        self.lines: list[str] = []

    def add(self, key: str, *, found: object, expected: str) -> None:
        """Note one fault; ``found`` is quoted unless it is None, which means that there is nothing."""
        what = "nothing" if found is None else repr(found)
        self.lines.append(f"{self.file}: {key}: found {what}, expected {expected}")

    def raise_if_any(self, fix: str) -> None:
        """Raise one UsageError that holds every line."""
        if self.lines:
            raise UsageError("\n".join(self.lines), fix=fix)


def suggest(word: str, known: Iterable[str]) -> str:
    """Name the nearest known word as a question, or all known words when none is near."""
    known = sorted(known)
    near = difflib.get_close_matches(word, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"one of {', '.join(known)}"


def read_table(table: object, fields: Mapping[str, Bound], *, key: str, faults: Faults) -> dict[str, Any]:
    """Read a table whose keys are ``fields``; what is missing or wrong is noted and left out of the result."""
    if not isinstance(table, dict):
        faults.add(f"[{key}]" if key else "file", found=table, expected="a table")
        return {}
    prefix = f"[{key}] " if key else ""
    for name in sorted(table.keys() - fields.keys()):
        faults.add(f"{prefix}{name}", found=name, expected=f"a known key: {suggest(name, fields)}")
    values: dict[str, Any] = {}
    for name, field in fields.items():
        if name in table:
            _read_value(values, name, table[name], field.kind, at=f"{prefix}{name}", note=faults.add)
        elif not field.optional:
            faults.add(f"{prefix}{name}", found=None, expected=field.kind.unit)
    return values


def _read_value(  # noqa: PLR0913 - where the value goes, what it is and how a fault is noted
    values: dict[str, Any], name: str, value: object, kind: Kind, *, at: str, note: Callable[..., None]
) -> None:
    try:
        parsed = kind.parse(value)
    except ValueError as error:
        note(at, found=value, expected=f"{kind.unit} ({error})")
        return
    if kind is SHARE and isinstance(parsed, float) and parsed > 1:
        note(at, found=value, expected="share (at most 100 %)")
        return
    values[name] = parsed
