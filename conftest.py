"""The pytest face of streamworthy: `pytest -m qualify` asks the machine, plain `pytest` asks the code."""

from __future__ import annotations

pytest_plugins = [
    "tests.face.options",
    "tests.face.run",
    "tests.face.outcome",
    "tests.face.fixtures",
    "tests.face.saved",
    "tests.face.summary",
]
