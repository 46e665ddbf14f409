"""The user's folders, with and without a home."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamworthy.errors import UsageError
from streamworthy.gguf.hash_cache import default_cache
from streamworthy.preparation import scratch_folder
from streamworthy.probes.home import probe_cache_folder, probe_home, probe_state_folder
from streamworthy.report.identity import hidden_names, read_salt


@pytest.fixture
def homeless(monkeypatch):
    """Be a user without HOME whom passwd does not know."""
    pwd = pytest.importorskip("pwd")

    def unknown(uid):
        raise KeyError(uid)

    for variable in ("HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "STREAMWORTHY_SALT"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)


def test_the_environment_decides(monkeypatch):
    """A variable of its own goes before the home folder."""
    monkeypatch.setenv("HOME", "/home/u")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/fast/cache")
    assert probe_home() == Path("/home/u")
    assert probe_cache_folder() == Path("/fast/cache")
    assert probe_state_folder() == Path("/home/u/.local/state")


def test_without_a_home_only_what_needs_one_is_lost(homeless, tmp_path):
    """Hashes are not kept, the id differs from run to run, and a folder to write to has to be named."""
    assert (probe_home(), probe_cache_folder(), probe_state_folder()) == (None, None, None)
    assert default_cache().folder is None
    assert read_salt(machine_id=tmp_path / "absent") != read_salt(machine_id=tmp_path / "absent")
    assert set(hidden_names("lab-01", b"salt")) == {"lab-01"}
    assert scratch_folder(tmp_path) == tmp_path
    with pytest.raises(UsageError, match="found no home folder") as told:
        scratch_folder(None)
    assert "--scratch" in told.value.fix
