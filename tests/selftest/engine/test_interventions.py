"""Changes made on purpose around a real engine: each has its effect, and none of them stays."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from streamworthy.bench.hold import dense_places
from streamworthy.engine.interventions import Interventions, _RefusedError
from streamworthy.engine.runner import Engine
from streamworthy.engine.session import Session
from streamworthy.facts.intervention import Change
from streamworthy.gguf.subject import Subject
from tests.selftest.engine.real_model import copy_real_model
from tests.selftest.engine.run_pool import PLAN, make_task


@pytest.fixture
def session(tmp_path):
    """Load a real model with two threads."""
    (tmp_path / "scratch").mkdir()
    path = copy_real_model(tmp_path)
    task = make_task([path], plan=replace(PLAN, decode_tokens=2, threads=2), threads=2)
    found = Session(task, lambda: Engine(tmp_path / "scratch"))
    yield found
    found.close()
    path.unlink()


def make_interventions(session, tmp_path):
    """Give the changes around a loaded engine."""
    return Interventions(session, lambda: Engine(tmp_path / "scratch"), progress=print)


def map_flags(session):
    """Give the flags of the engine's maps of the model."""
    text = Path(f"/proc/{session.engine.pid}/smaps").read_text(encoding="ascii", errors="replace")
    name = re.escape(session.task.paths[0].name)
    return [set(flags.split()) for flags in re.findall(rf"{name}\n(?:(?!VmFlags).*\n)*VmFlags: (.*)", text)]


def test_each_change_is_tried_in_each_round(session, tmp_path):
    """A change that a machine refuses says why; all is as before afterwards."""
    before = map_flags(session)
    found = make_interventions(session, tmp_path).run(rounds=2)

    assert [each.change for each in found] == list(Change)
    assert {len(each.rate_ratios) for each in found if not each.refused} == {2}
    assert all(each.refused or min(each.rate_ratios) > 0 for each in found)
    assert session.state().threads == 2
    assert map_flags(session) == before
    assert list((tmp_path / "scratch").iterdir()) == []


def test_the_engine_is_changed_while_a_window_runs(session, tmp_path):
    """Threads and the maps' random flag are those that were asked for, and only then."""
    made = make_interventions(session, tmp_path)
    with made._making(Change.HALF_THREADS):
        assert session.engine.ask("state", limit_seconds=60.0)["threads"] == 1
    with made._making(Change.NO_READ_AHEAD):
        assert all("rr" in flags for flags in map_flags(session))
    assert session.engine.ask("state", limit_seconds=60.0)["threads"] == 2
    assert not any("rr" in flags for flags in map_flags(session))


def test_dense_tensors_are_locked_while_a_window_runs(session, tmp_path):
    """By this process, within its limit; afterwards nothing is."""
    before = locked_bytes()
    dense = tuple(dense_places(Subject(session.task.paths[0]).places))
    session.task = replace(session.task, dense=dense)
    made = make_interventions(session, tmp_path)
    with suppress(_RefusedError), made._making(Change.HELD):  # refused where this user's limit is lower
        assert locked_bytes() - before >= sum(place.size_bytes for place in dense)
    assert locked_bytes() == before


def locked_bytes():
    """Tell how much memory this process has locked."""
    return int(re.search(r"VmLck:\s+(\d+)", Path("/proc/self/status").read_text(encoding="ascii"))[1]) * 1024


def test_an_engine_with_one_thread_cannot_be_halved(session, tmp_path):
    """The other changes are made all the same."""
    session.task = replace(session.task, threads=1)
    found = {each.change: each.refused for each in make_interventions(session, tmp_path).run(rounds=1)}
    assert found[Change.HALF_THREADS] == "the engine has one thread"
    assert found[Change.SAME_TEXT] == ""
