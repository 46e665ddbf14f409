"""The tier that machines of known truth are judged by: the sample's, with limits that a healthy one meets."""

from __future__ import annotations

import re
from pathlib import Path

_SAMPLE = Path(__file__).parents[3] / "thresholds" / "sample.toml"
_PLAN = {"prompt_tokens": "2", "decode_tokens": "8", "lock": '"nothing"'}
_RATES = ("prefill.rate", "decode.cold_rate", "decode.warm_rate")
_TIMES = ("load.mmap", "first_token.cold", "first_token.warm")
LIMITED = (*_RATES, *_TIMES)
ENOUGH = 0.65  # half of the CPUs are not; a healthy one gave 0.87 of another time
_ANY_RATE, _ANY_TIME = 0.001, 1e5  # to learn what a machine gives


def write_tier(path, healthy, **plan):
    """Write a tier: 65 % of ``healthy`` (a number a gate; a gate that is left out is not limited) is enough.

    ``plan`` changes the engine's plan; its values are as TOML writes them.
    """
    text = _changed(_SAMPLE.read_text(encoding="utf-8"), "[applies]", "model", 'model = "given"')
    for key, value in (_PLAN | plan).items():
        text = _changed(text, "engine", key, f"{key} = {value}")
    for gate in _RATES:
        rate = healthy[gate] * ENOUGH if gate in healthy else _ANY_RATE
        text = _changed(text, gate, "at_least|at_least_of_ceiling", f'at_least = "{rate:.4f} tok/s"')
    for gate in _TIMES:
        seconds = healthy[gate] / ENOUGH if gate in healthy else _ANY_TIME
        text = _changed(text, gate, "at_least|at_most", f'at_most = "{seconds:.4f} s"')
    path.write_text(text, encoding="utf-8")
    return path


def _changed(text, table, keys, line):
    """Give the text with one line of one table replaced."""
    found = re.search(rf"^\[{re.escape(table)}\]\n(?:(?!\[).*\n)*?(?:{keys}) = .*$", text, re.MULTILINE)
    assert found, f"{_SAMPLE}: no {keys} in [{table}]"
    begin = found.group().rindex("\n") + found.start() + 1
    return f"{text[:begin]}{line}{text[found.end() :]}"
