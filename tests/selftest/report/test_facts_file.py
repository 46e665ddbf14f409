"""facts.json."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path

import pytest

from streamworthy.report.facts_file import learned, to_json, write_facts
from streamworthy.verdict import Word, verdict


class Source:
    """A lazy source with two facts, one of which is asked for."""

    @cached_property
    def asked(self):
        return verdict(Word.PASS, measured="1")

    @cached_property
    def unasked(self):
        raise AssertionError


def test_only_what_was_learned_is_kept():
    """Writing facts probes nothing."""
    source = Source()
    _ = source.asked
    assert list(learned(source)) == ["asked"]


def test_a_file_reads_back_as_what_was_given(tmp_path):
    """Records, words, tuples and paths survive as JSON."""
    write_facts(
        tmp_path / "facts.json", {"v": verdict(Word.FAIL, measured="é", samples=(1.0, 2.0)), "p": Path("/m")}, {}
    )
    read = json.loads((tmp_path / "facts.json").read_text(encoding="utf-8"))
    assert read["schema"] == 1
    assert (read["v"]["word"], read["v"]["measured"], read["v"]["samples"], read["p"]) == (
        "FAIL",
        "é",
        [1.0, 2.0],
        "/m",
    )
    assert [file.name for file in tmp_path.iterdir()] == ["facts.json"]


def test_a_name_that_is_not_text_does_not_lose_the_file(tmp_path):
    """A path with bytes that are no UTF-8 is written escaped."""
    write_facts(tmp_path / "facts.json", {"p": "/m/\udcff.gguf"}, {})
    assert "udcff" in (tmp_path / "facts.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(("value", "text"), [({1: (None, True)}, {"1": [None, True]}), (frozenset({3}), [3])])
def test_containers(value, text):
    """Keys become text, sequences become lists."""
    assert to_json(value) == text
