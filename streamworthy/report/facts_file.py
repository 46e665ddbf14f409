"""facts.json: everything a run learned, so that a past machine can be judged again under other limits."""

from __future__ import annotations

import dataclasses
import json
import os
from enum import Enum
from typing import TYPE_CHECKING, Any

from streamworthy.report.identity import hide

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SCHEMA_VERSION = 1


def learned(source: object) -> dict[str, Any]:
    """Give the records that a lazy source (machine, subject, pool) has learned so far, by name."""
    return {
        name: value
        for name, value in vars(source).items()
        if not name.startswith("_") and (dataclasses.is_dataclass(value) or isinstance(value, tuple))
    }


def to_json(value: object) -> Any:  # noqa: ANN401 - JSON is any of six types
    """Turn records, tuples, paths and words into what JSON knows."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(name): to_json(item) for name, item in value.items()}
    if isinstance(value, (tuple, list, set, frozenset)):
        return [to_json(item) for item in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def write_facts(path: Path, content: Mapping[str, Any], hidden: Mapping[str, str]) -> None:
    """Write the file in one step: a reader sees the old one or the new one whole. ``hidden`` names are replaced."""
    new = path.with_suffix(".json.new")
    text = json.dumps({"schema": SCHEMA_VERSION, **to_json(dict(content))}, indent=1, ensure_ascii=False)
    text = hide(text, {_quoted(name): _quoted(stand_in) for name, stand_in in hidden.items()})
    try:
        new.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
