"""Salted host ids."""

from __future__ import annotations

import os

import pytest

from streamworthy.report.identity import hidden_names, read_salt, salted_id


@pytest.fixture(autouse=True)
def no_shared_salt(monkeypatch):
    """The environment of whoever runs the tests does not count."""
    monkeypatch.delenv("STREAMWORTHY_SALT", raising=False)


def test_the_same_salt_gives_the_same_id(tmp_path):
    """One user's reports of one host carry one id, another user's another."""
    none = tmp_path / "no-machine-id"
    first, again, other = (read_salt(tmp_path / name, none) for name in ("a", "a", "b"))
    assert salted_id("ada-laptop", first) == salted_id("ada-laptop", again)
    assert salted_id("ada-laptop", first) != salted_id("ada-laptop", other)
    assert "ada" not in salted_id("ada-laptop", first)


def test_a_fleet_may_share_its_salt(monkeypatch, tmp_path):
    """With STREAMWORTHY_SALT nothing is stored and the ids are the fleet's."""
    monkeypatch.setenv("STREAMWORTHY_SALT", "fleet")
    assert read_salt(tmp_path / "unused") == b"fleet"
    assert not (tmp_path / "unused").exists()


def test_a_folder_that_cannot_be_written_still_gives_a_salt(tmp_path):
    """Without a place to store it the salt is new each time."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    none = tmp_path / "no-machine-id"
    assert read_salt(blocked / "below", none) != read_salt(blocked / "below", none)


@pytest.mark.parametrize("empty", [b"", b"uninitialized\n"])
def test_all_users_of_a_machine_share_its_id(tmp_path, empty):
    """The machine's own id is the salt where it has one; an image's unset one is none."""
    file = tmp_path / "machine-id"
    file.write_bytes(b"0123456789abcdef0123456789abcdef\n")
    ids = {salted_id("vm", read_salt(tmp_path / user, file)) for user in ("ada", "grace")}
    assert len(ids) == 1
    file.write_bytes(empty)
    assert len({read_salt(tmp_path / user, file) for user in ("ada", "grace")}) == 2


def test_home_and_user_are_hidden(monkeypatch, tmp_path):
    """Paths in reports tell neither the user's name nor the host's."""
    monkeypatch.setenv("HOME", os.fspath(tmp_path / "home" / "ada"))
    names = hidden_names("lab-7", b"salt")
    assert names == {
        "lab-7": salted_id("lab-7", b"salt"),
        os.fspath(tmp_path / "home" / "ada"): "~",
        "ada": "user",
    }
