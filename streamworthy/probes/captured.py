"""Answers of a captured machine that are not files, taken from its machine.toml with their type checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from streamworthy.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamworthy.probes.sysroot import Sysroot

Kind = TypeVar("Kind", str, int, float)


def tables(root: Sysroot, name: str) -> list[Mapping[str, Any]]:
    """Give all ``[[name]]`` tables; none when there are none. UsageError when it is something else."""
    found = root.answers.get(name, [])
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise _wrong(root, f"[[{name}]]", found, "an array of tables")
    return found


def table(root: Sysroot, name: str) -> Mapping[str, Any]:
    """Give the ``[name]`` table; UsageError when it is missing or something else."""
    found = root.answers.get(name)
    if not isinstance(found, dict):
        raise _wrong(root, f"[{name}]", found, "a table")
    return found


def take_list(root: Sysroot, name: str, answer: Mapping[str, Any], key: str, kind: type) -> list[Any]:
    """Give a list of a table, empty when it is missing; UsageError when it is something else than ``kind`` many."""
    found = answer.get(key, [])
    if not isinstance(found, list) or not all(isinstance(each, kind) for each in found):
        raise _wrong(root, f"[{name}] {key}", found, "a list of tables" if kind is dict else "a list of texts")
    return found


def optional_table(root: Sysroot, name: str) -> Mapping[str, Any]:
    """Give the ``[name]`` table, empty when it is missing; UsageError when it is something else."""
    return table(root, name) if name in root.answers else {}


def take(root: Sysroot, name: str, answer: Mapping[str, Any], key: str, kind: type[Kind]) -> Kind:
    """Give one value of a table; UsageError names file, table and key when it is missing or of another type."""
    found = answer.get(key)
    accepted = (int, float) if kind is float else (kind,)
    if isinstance(found, bool) or not isinstance(found, accepted):
        raise _wrong(root, f"[{name}] {key}", found, {str: "text", int: "a whole number", float: "a number"}[kind])
    return kind(found)


def _wrong(root: Sysroot, place: str, found: object, expected: str) -> UsageError:
    said = "nothing" if found is None else repr(found)
    return UsageError(
        f"{root.root / 'machine.toml'}: {place}: found {said}, expected {expected}", fix="repair the file"
    )
