"""machine.toml is written as TOML that reads back as it was."""

from __future__ import annotations

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from streamworthy.capture.answers import answers_of, format_answers
from streamworthy.capture.recorder import RecordingSysroot
from tests.selftest.probes.trees import tree

WORDS = st.text(st.characters(exclude_categories=("Cs",)))
VALUES = st.one_of(
    WORDS, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False)
)
TABLE = st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), VALUES | st.lists(WORDS, max_size=3), max_size=4)


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), TABLE | st.lists(TABLE, min_size=1, max_size=3)))
def test_any_answers_read_back(answers):
    """Quotes, control characters and numbers of any size."""
    assert tomllib.loads(format_answers(answers)) == answers


def test_shards_stand_one_a_line():
    """People read it."""
    text = format_answers({"model": {"path": "/m", "shards": [{"name": "a", "size_bytes": 1}]}})
    assert '[model]\npath = "/m"\nshards = [\n    { name = "a", size_bytes = 1 },\n]\n' in text


def test_bytes_that_are_no_text_are_replaced():
    """A path may hold any byte; TOML may not."""
    assert tomllib.loads(format_answers({"model": {"path": "/m\udcff"}}))["model"]["path"] == "/m\ufffd"


def test_a_machine_captured_again_keeps_its_answers(tmp_path):
    """New answers win; who it was is written anew; what was refused then stays refused."""
    refused = '[[unreadable]]\npath = "proc/swaps"\nreason = "Permission denied"\n'
    told = f'[source]\nname = "old"\n[uname]\nmachine = "x86_64"\n{refused}'
    root = RecordingSysroot(tree(tmp_path, answers=told).root)
    root.note("model", {"path": "/m"})
    root.note("statvfs", {"mount": "/"})
    assert answers_of(root, {"proc/big": "too large"}) == {
        "uname": {"machine": "x86_64"},
        "model": {"path": "/m"},
        "statvfs": [{"mount": "/"}],
        "unreadable": [
            {"path": "proc/big", "reason": "too large"},
            {"path": "proc/swaps", "reason": "Permission denied"},
        ],
    }
