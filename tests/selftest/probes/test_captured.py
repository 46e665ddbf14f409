"""Answers from machine.toml: taken as they are, or named when they are not what was expected."""

from __future__ import annotations

import pytest

from streamworthy.errors import UsageError
from streamworthy.probes.captured import table, tables, take
from tests.selftest.probes.trees import tree

SOUND = '[model]\npath = "/m"\nshards = 3\n[[latency]]\nmount = "/"\nmedian_seconds = 1\n'


def take_all(root):
    """Take every value of the sound file."""
    take(root, "model", table(root, "model"), "path", str)
    take(root, "model", table(root, "model"), "shards", int)
    take(root, "latency", tables(root, "latency")[0], "median_seconds", float)


def test_values_come_in_the_type_that_was_asked(tmp_path):
    """A whole number will do for a duration."""
    root = tree(tmp_path, answers=SOUND)
    (latency,) = tables(root, "latency")
    assert take(root, "model", table(root, "model"), "path", str) == "/m"
    assert take(root, "latency", latency, "median_seconds", float) == 1.0
    assert tables(root, "absent") == []


@pytest.mark.parametrize(
    ("found", "put", "message"),
    [
        ('path = "/m"', "path = 3", r"\[model\] path: found 3, expected text"),
        ("shards = 3", "shards = true", r"\[model\] shards: found True, expected a whole number"),
        ("shards = 3", "", r"\[model\] shards: found nothing, expected a whole number"),
        ("[model]", "[models]", r"\[model\]: found nothing, expected a table"),
        ("[[latency]]", "[latency]", r"\[\[latency\]\]: found .*, expected an array of tables"),
        ("= 1", '= "1 s"', r"\[latency\] median_seconds: found '1 s', expected a number"),
    ],
)
def test_each_other_value_is_named_with_file_and_key(tmp_path, found, put, message):
    """One change to a sound file, one message."""
    with pytest.raises(UsageError, match=rf"machine\.toml: {message}"):
        take_all(tree(tmp_path, answers=SOUND.replace(found, put)))
