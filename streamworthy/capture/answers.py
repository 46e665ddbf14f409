"""machine.toml of a captured machine: where it comes from, and the answers that are no files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamworthy.capture.recorder import RecordingSysroot

_ONE_EACH = ("uname", "model", "allocation", "memory_policy")  # the other tables hold one answer for each mount or path
_HEAD = """\
# A captured machine: judge it with  pytest -m qualify --sysroot THIS_FOLDER
# Names, serial numbers and addresses are stand-ins. An empty file was there, and was not read.

"""


def answers_of(recorded: RecordingSysroot, left_out: Mapping[str, str]) -> dict[str, Any]:
    """Join the noted answers with those of a captured machine that is captured again, and what could not be read."""
    noted = {name: found[-1] if name in _ONE_EACH else found for name, found in recorded.noted.items()}
    refused = {**recorded.refusals, **recorded.refused, **left_out}
    unreadable = [{"path": path, "reason": reason} for path, reason in sorted(refused.items())]
    kept = {name: found for name, found in recorded.answers.items() if name not in ("source", "identity", "unreadable")}
    return {**kept, **noted, **({"unreadable": unreadable} if unreadable else {})}


def format_answers(answers: Mapping[str, Any]) -> str:
    """Write tables, and arrays of tables, as TOML."""
    blocks = []
    for name, found in answers.items():
        for table in found if isinstance(found, list) else [found]:
            head = f"[[{name}]]" if isinstance(found, list) else f"[{name}]"
            blocks.append("\n".join([head, *(f"{key} = {_format(value)}" for key, value in table.items())]))
    return _HEAD + "\n\n".join(blocks) + "\n"


def _format(value: Any) -> str:  # noqa: ANN401 - whatever TOML has a form for
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_format(each)}" for key, each in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        lines = "".join(f"    {_format(each)},\n" for each in value)
        return f"[\n{lines}]" if value else "[]"
    if isinstance(value, str):
        text = value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower() if isinstance(value, bool) else repr(value)
