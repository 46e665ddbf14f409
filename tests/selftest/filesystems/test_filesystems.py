"""Every gate of storage and shards, and a map of a page, held against the truth on each filesystem."""

from __future__ import annotations

import pytest

from tests.selftest.face.running import qualify
from tests.selftest.filesystems.gates import gates
from tests.selftest.filesystems.ground import built, find
from tests.selftest.filesystems.truth import CAUSES, LAYOUTS, TRUTH

GATES = {gate for gate, _ in gates()}


def test_the_table_is_whole():
    """Each layout has a row, each row has a word for every gate, and no cause is of a row that is not there."""
    assert [row.name for row in TRUTH] == list(LAYOUTS)
    assert set(CAUSES) <= set(LAYOUTS)
    assert {row.name: set(row.words) for row in TRUTH} == dict.fromkeys(LAYOUTS, GATES)


@pytest.mark.root
@pytest.mark.parametrize("row", TRUTH, ids=lambda row: row.name)
def test_each_gate_tells_the_truth(ground, row):
    """The word, the cause behind it and a fix for each FAIL; and the kernel's own answer to a shared map."""
    _, _, wrong = find(ground, row)
    assert wrong == []


@pytest.mark.root
def test_the_front_door_says_the_same(ground, tmp_path):
    """Where a set can be read and not be mapped, the run says what it lies on, and that its files are sound."""
    row = next(row for row in TRUTH if row.name == "bindfs, direct_io")
    asked = ("tests/gates/host/test_storage.py", "tests/gates/model/test_shards.py")
    with built(ground, row) as path:
        run = qualify(tmp_path, *asked, "--model", path)
    advising = {gate: case.properties["level"] == "advise" for gate, case in run.cases.items()}  # a tier of its own
    expected = {
        gate: "advice" if row.words[gate] == "FAIL" and advising[gate] else row.words[gate] for gate in advising
    }
    told = {gate: case.status for gate, case in run.cases.items()}
    assert told == {gate: told[gate] if word == "below" else word for gate, word in expected.items()}, run.screen
    assert "Traceback" not in run.screen
