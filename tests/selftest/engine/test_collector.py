"""Episodes within their bounds."""

from __future__ import annotations

import signal
from dataclasses import replace

import pytest

from streamworthy.engine.collector import Allowance, Collected, Collector, describe, foreign_read
from streamworthy.engine.death import OomCounters, explain_death
from streamworthy.facts.cause import Cause
from tests.selftest.engine.records import COUNTERS, MIB, make_episode, make_phase
from tests.selftest.engine.run_pool import PLAN, make_task
from tests.selftest.engine.test_task import _TASK


@pytest.mark.parametrize(
    ("state", "device", "engine", "foreign"),
    [
        ("cold", 864 * MIB, 400 * MIB, False),
        ("cold", 864 * MIB + 1, 400 * MIB, True),
        ("warm, steady", 865 * MIB, 400 * MIB, True),
        ("warm, resident", 5000 * MIB, 0, False),
        ("cold", None, 400 * MIB, False),
        ("cold", 864 * MIB + 1, None, False),
    ],
)
def test_a_reader_that_came_in_later_is_seen_by_the_devices_bytes(state, device, engine, foreign):
    """Twice the engine's bytes and 64 MiB are let pass; resident weights do not read."""
    phase = make_phase("decode", counters=replace(COUNTERS, device_bytes=device, engine_bytes=engine))

    assert bool(foreign_read(make_episode(make_phase("load"), phase, state=state))) is foreign


def test_what_another_read_beside_the_timed_phases_does_not_matter():
    """An episode without a phase that it fell into is this machine's."""
    assert foreign_read(make_episode(make_phase("load"))) == ""


def test_a_budget_that_cannot_hold_one_episode_starts_nothing():
    """The line says how long it would take; no engine is started."""

    def never():
        raise AssertionError("an engine was started")

    found = Collected()
    allowance = Allowance(depth="quick", first_count=5, most_count=15, budget_seconds=60.0, disturb=False)
    Collector(_TASK, allowance, start=never, progress=print, wanted=lambda _: 5).collect("cold", found)

    assert found.refused == (
        "the depth quick gives 60.0 s for all episodes; "
        "5 cold episodes need about 28 min 25 s, so all of them about 56 min 50 s"
    )
    assert found.refused_fix == ("pytest -m qualify --depth full",)
    assert found.episodes == []


def test_a_budget_that_ends_after_a_look_says_what_the_next_one_needs():
    """The episodes stay: whoever is decided by them is decided."""
    found = Collected(episodes=[make_episode()] * 5)
    allowance = Allowance(depth="quick", first_count=5, most_count=15, budget_seconds=60.0, disturb=False)
    Collector(_TASK, allowance, start=None, progress=print, wanted=lambda _: 4).collect("cold", found)

    assert found.refused == ("4 more cold episodes need about 22 min 44 s, more than the depth quick has left")
    assert found.refused_fix == ("pytest -m qualify --depth full",)
    assert len(found.episodes) == 5


def test_nothing_more_is_run_once_nothing_is_wanted():
    """Neither after the last look."""
    for count, wanted in ((5, 0), (15, 4)):
        found = Collected(episodes=[make_episode()] * count)
        allowance = Allowance(depth="quick", first_count=5, most_count=15, budget_seconds=60.0, disturb=False)
        Collector(_TASK, allowance, start=None, progress=print, wanted=lambda _, wanted=wanted: wanted).collect(
            "cold", found
        )

        assert (found.refused, len(found.episodes)) == ("", count)


def test_progress_is_one_line():
    """Number, state and phases."""
    episode = make_episode(make_phase("load", seconds=1.5), make_phase("first_token", seconds=0.25))

    assert describe("cold", episode, 15) == "cold episode 1 of at most 15 (cold): load 1.5 s, first token 250.0 ms"


@pytest.mark.parametrize(
    ("changes", "fix", "cause"),
    [
        ({"repack": True}, "in [engine]: repack = false", Cause.ENGINE_CONFIGURATION),
        ({"mmap": False}, "in [engine]: mmap = true", Cause.ENGINE_CONFIGURATION),
        ({"lock_bytes": -1}, 'in [engine]: less context_tokens, or lock = "nothing"', Cause.ENGINE_CONFIGURATION),
        ({}, "in [engine]: less context_tokens; or give", Cause.MEMORY_CAPACITY),
    ],
)
def test_an_engine_that_was_killed_is_told_to_hold_less_of_what_it_holds(tmp_path, changes, fix, cause):
    """The kernel does not say for what memory was short; the tier does, and what is off already is not named."""
    before, after = (OomCounters(machine_count=count, group_count=None) for count in (1, 2))

    def killed():
        raise explain_death(-signal.SIGKILL, doing="load", log="", before=before, after=after)

    (tmp_path / "model.gguf").write_bytes(bytes(MIB))
    task = make_task([tmp_path / "model.gguf"], plan=replace(PLAN, **changes))
    found = Collected()
    allowance = Allowance(depth="quick", first_count=5, most_count=15, budget_seconds=600.0, disturb=True)
    Collector(task, allowance, start=killed, progress=print, wanted=lambda _: 5).collect("decode", found)

    assert "killed by the kernel for lack of memory" in found.failure.message
    assert found.failure.fix[0].startswith(fix)
    assert found.stopped_by is cause
