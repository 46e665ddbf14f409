"""Tables with fixed keys: what is sound is converted, what is not is noted with file, key, found and expected."""

from __future__ import annotations

import pytest

from streamworthy.criteria.spec import optional, required
from streamworthy.errors import UsageError
from streamworthy.schema import TEXT, Faults, choice, either, read_table, suggest
from streamworthy.units import BYTES, COUNT, SHARE

FIELDS = {"size": required(BYTES), "count": optional(COUNT), "share": optional(SHARE), "why": required(TEXT)}


def read(table):
    """Read a table and give its values and the faults noted."""
    faults = Faults("tiers/mine.toml")
    return read_table(table, FIELDS, key="disk", faults=faults), faults.lines


def test_a_sound_table_is_converted():
    """Quantities become canonical numbers, text loses its line breaks, and what is optional may be missing."""
    assert read({"size": "2 KiB", "why": "two\nlines "}) == ({"size": 2048.0, "why": "two lines"}, [])


def test_every_fault_is_noted_and_left_out():
    """Four faults, four lines in a fixed order, and only the sound value is kept."""
    values, lines = read({"size": "2 KiB", "share": "101 %", "count": True, "whi": "a typo"})
    assert values == {"size": 2048.0}
    assert lines == [
        "tiers/mine.toml: [disk] whi: found 'whi', expected a known key: did you mean 'why'?",
        "tiers/mine.toml: [disk] count: found True, expected count (a whole number without a unit)",
        "tiers/mine.toml: [disk] share: found '101 %', expected share (at most 100 %)",
        "tiers/mine.toml: [disk] why: found nothing, expected text",
    ]


@pytest.mark.parametrize(("table", "found"), [(None, "nothing"), ([], "[]"), ("text", "'text'"), (3, "3")])
def test_what_is_no_table_is_noted_once(table, found):
    """No missing keys are listed for a table that is not there."""
    assert read(table) == ({}, [f"tiers/mine.toml: [disk]: found {found}, expected a table"])


def test_a_share_of_one_is_the_most():
    """The bound itself is sound."""
    assert read({"size": "1 B", "why": "a", "share": "100 %"})[0]["share"] == 1


def test_faults_are_raised_together():
    """Nothing is raised without a fault; all lines come in one error."""
    faults = Faults("a.toml")
    faults.raise_if_any("mend it")
    faults.add("one", found=1, expected="two")
    faults.add("three", found=None, expected="four")
    with pytest.raises(UsageError) as caught:
        faults.raise_if_any("mend it")
    assert caught.value.message == "a.toml: one: found 1, expected two\na.toml: three: found nothing, expected four"
    assert caught.value.fix == "mend it"


def test_a_near_word_is_suggested_and_a_far_one_gets_the_list():
    """A typo is answered with one word."""
    assert suggest("at_mots", ["at_most", "at_least"]) == "did you mean 'at_most'?"
    assert suggest("zzz", ["b", "a"]) == "one of a, b"


def test_words_may_stand_for_values():
    """A word gives its value, a quantity is read as such, anything else is told what is accepted."""
    lock = either(BYTES, {"nothing": 0, "weights": -1})
    assert [lock.parse(word) for word in ("nothing", "weights", "1 KiB")] == [0, -1, 1024.0]
    with pytest.raises(ValueError, match=r"^'nothing', 'weights', B, kB, "):
        lock.parse("all")
    assert choice("a", "b").parse("b") == "b"
    with pytest.raises(ValueError, match=r"^'a', 'b'$"):
        choice("a", "b").parse("c")
