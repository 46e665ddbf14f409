"""Waivers: what holds, what has expired, what is refused, what is told."""

import tomllib
from datetime import date

import pytest

from streamworthy.errors import UsageError
from streamworthy.waivers import NO_WAIVERS, Waiver, Waivers, load_waivers, parse_waivers

TODAY = date(2026, 1, 31)
SOUND = """\
[[waiver]]
gate = "storage.used_share"
machine = "lab-07"
reason = "moves to a larger drive in spring"
owner = "storage team"
expires = 2026-01-31
"""
WAIVER = Waiver(
    gate="storage.used_share",
    machine="lab-07",
    tier=None,
    reason="moves to a larger drive in spring",
    owner="storage team",
    expires=TODAY,
    see="waivers.toml, entry 1",
)


def parse(text, today=TODAY):
    """Parse a file's text."""
    return parse_waivers(tomllib.loads(text), where="waivers.toml", today=today)


def test_a_file(tmp_path):
    """A file's entries become waivers."""
    file = tmp_path / "waivers.toml"
    file.write_text(SOUND)
    assert load_waivers(file, TODAY) == Waivers(valid=(WAIVER,), expired=())


@pytest.mark.parametrize(
    ("today", "held"), [(date(2026, 1, 30), True), (date(2026, 1, 31), True), (date(2026, 2, 1), False)]
)
def test_the_last_day(today, held):
    """A waiver holds up to and including its day; an expired one does not waive."""
    waivers = parse(SOUND, today)
    found = waivers.find("storage.used_share", machine="lab-07", tier="laptop-16g")
    assert (found, bool(waivers.valid), bool(waivers.expired)) == (WAIVER if held else None, held, not held)


@pytest.mark.parametrize(
    ("scope", "asked", "held"),
    [
        ('machine = "lab-07"', ("storage.used_share", "lab-07", "any"), True),
        ('machine = "lab-07"', ("storage.used_share", "lab-08", "any"), False),
        ('machine = "lab-07"', ("storage.free_space", "lab-07", "any"), False),
        ('tier = "xeon-128g"', ("storage.used_share", "any", "xeon-128g"), True),
        ('tier = "xeon-128g"', ("storage.used_share", "any", "laptop-16g"), False),
        ('machine = "lab-07"\ntier = "xeon-128g"', ("storage.used_share", "lab-07", "xeon-128g"), True),
        ('machine = "lab-07"\ntier = "xeon-128g"', ("storage.used_share", "lab-07", "laptop-16g"), False),
    ],
)
def test_where_a_waiver_holds(scope, asked, held):
    """A waiver holds for its gate on its machine, in its tier, or for both together."""
    gate, machine, tier = asked
    waivers = parse(SOUND.replace('machine = "lab-07"', scope))
    assert (waivers.find(gate, machine=machine, tier=tier) is not None) is held


def test_of_two_the_longer_one():
    """Of two waivers for the same, the one that holds longest is named."""
    waivers = parse(SOUND + SOUND.replace("2026-01-31", "2027-01-31"))
    assert waivers.find("storage.used_share", machine="lab-07", tier="").see == "waivers.toml, entry 2"


def test_a_date_as_text():
    """A date in quotes is a date."""
    assert parse(SOUND.replace("2026-01-31", '"2026-01-31"')).valid == (WAIVER,)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("owner", "onwer", "entry 1: unknown key 'onwer', did you mean 'owner'?; entry 1: 'owner' is missing"),
        ('owner = "storage team"\n', "", "entry 1: 'owner' is missing"),
        ('machine = "lab-07"\n', "", "entry 1: 'machine' or 'tier' is missing"),
        ('"storage team"', '" "', "entry 1: 'owner': found ' ', expected a text"),
        ('"lab-07"', "7", "entry 1: 'machine': found 7, expected a text"),
        (
            "storage.used_share",
            "storage.used_shares",
            (
                "entry 1: 'gate': found 'storage.used_shares', expected a gate of this suite,"
                " did you mean 'storage.used_share'?"
            ),
        ),
        ("2026-01-31", '"soon"', "entry 1: 'expires': found 'soon', expected a date such as 2026-12-31"),
        ("2026-01-31", '"2026-02-30"', "entry 1: 'expires': found '2026-02-30', expected a date such as 2026-12-31"),
        (
            "2026-01-31",
            "2026-01-31T10:00:00",
            "entry 1: 'expires': found '2026-01-31 10:00:00', expected a date such as 2026-12-31",
        ),
        ("2026-01-31", "20260131", "entry 1: 'expires': found '20260131', expected a date such as 2026-12-31"),
        ("[[waiver]]", "[waiver]", "'waiver' is not a list of tables, expected [[waiver]]"),
        ("[[waiver]]", "[[waivers]]", "unknown key 'waivers', expected [[waiver]]"),
    ],
)
def test_faults(old, new, fault):
    """A fault is a usage error that names the file, the entry, what was found and what was expected."""
    with pytest.raises(UsageError) as caught:
        parse(SOUND.replace(old, new))
    assert caught.value.message == f"waivers.toml: {fault}"


@pytest.mark.parametrize("content", [b"[[waiver", b"\xff\xfe", b"gate = 2026-13-01"])
def test_not_toml(tmp_path, content):
    """A file that is not TOML is a usage error that names it."""
    file = tmp_path / "waivers.toml"
    file.write_bytes(content)
    with pytest.raises(UsageError, match=r"waivers\.toml: not valid TOML"):
        load_waivers(file, TODAY)


def test_no_file(tmp_path):
    """A file that is not there is a usage error that names it."""
    with pytest.raises(UsageError, match=r"waivers\.toml: cannot be read: No such file"):
        load_waivers(tmp_path / "waivers.toml", TODAY)


def test_an_empty_file():
    """A file without entries waives nothing."""
    assert parse("") == NO_WAIVERS


EXPIRED = (
    "waiver expired on 2026-01-31 and does not waive: "
    "waivers.toml, entry 1: storage.used_share for machine lab-07, owner storage team"
)
UNUSED = (
    "waiver not used, the gate needs none here: "
    "waivers.toml, entry 1: storage.used_share for machine lab-07, owner storage team"
)


@pytest.mark.parametrize(
    ("today", "used", "machine", "notes"),
    [
        (date(2026, 2, 1), (), "lab-07", [EXPIRED]),
        (date(2026, 2, 1), (), None, [EXPIRED]),
        (date(2026, 2, 1), (), "lab-08", []),
        (TODAY, (), "lab-07", [UNUSED]),
        (TODAY, (), None, [UNUSED]),
        (TODAY, (), "lab-08", []),
        (TODAY, ("storage.used_share",), "lab-07", []),
    ],
)
def test_what_is_told(today, used, machine, notes):
    """An expired waiver and one that was not needed are told, those of other machines are not."""
    assert list(parse(SOUND, today).notes(used=used, machine=machine)) == notes
