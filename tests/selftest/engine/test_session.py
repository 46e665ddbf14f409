"""A loaded engine with a sampler beside it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from streamworthy.engine.cold import run_cold
from streamworthy.engine.runner import Engine
from streamworthy.engine.session import Session
from streamworthy.errors import EngineError
from tests.selftest.engine.real_model import copy_real_model
from tests.selftest.engine.run_pool import make_task


@pytest.fixture
def model(tmp_path):
    """Give a real model file."""
    return copy_real_model(tmp_path)


@pytest.fixture
def nothing_left():
    """Hold that no thread and no open file stay behind."""
    before = (threading.active_count(), len(list(Path("/dev/fd").iterdir())))
    yield
    assert (threading.active_count(), len(list(Path("/dev/fd").iterdir()))) == before


def test_each_command_is_counted_apart(model, tmp_path, nothing_left):
    """What the load read is not the prompt's; together they are what happened since the spawn."""
    with Session(make_task([model]), lambda: Engine(tmp_path)) as session:
        spawn_to_load = session.since_spawn()
        loaded = session.load_phase(None)
        found = session.prompt(0, 16)
        prompt, both = found["counters"], session.since_spawn()

    assert loaded.counters.seconds >= loaded.seconds
    assert prompt.seconds >= found["first"] - found["sent"]
    assert spawn_to_load.seconds + prompt.seconds <= both.seconds
    assert both.anonymous_bytes == prompt.anonymous_bytes > 2**20
    assert both.engine_cores * both.seconds >= prompt.engine_cores * prompt.seconds > 0
    assert both.engine_bytes >= loaded.counters.engine_bytes >= loaded.device_bytes
    assert both.cpu.threads_count == 1


def test_a_cold_episode_carries_the_counters_of_its_phases(model, tmp_path, nothing_left):
    """Evicted weights that come back are the decode's own bytes and faults."""
    episode = run_cold(make_task([model]), 0, lambda: Engine(tmp_path), None)
    decode = episode.phase("decode")

    assert decode.counters.seconds >= decode.seconds
    assert decode.counters.engine_bytes >= decode.device_bytes
    assert decode.counters.major_faults >= decode.major_faults
    assert episode.first_token_counters.seconds >= episode.first_token_seconds


@pytest.mark.parametrize("error", [KeyboardInterrupt, EngineError])
def test_an_engine_that_does_not_start_leaves_nothing(tmp_path, nothing_left, error):
    """Neither where the user interrupts the start."""

    def start():
        raise error("no")

    with pytest.raises(error):
        Session(make_task([Path(__file__)]), start)


def test_a_model_that_is_refused_leaves_nothing(tmp_path, nothing_left):
    """The engine is gone as well."""
    with pytest.raises(EngineError, match="the model was refused"):
        Session(make_task([Path(__file__)]), lambda: Engine(tmp_path))


def test_the_suite_s_own_counting_is_not_the_engine_s_time(model, tmp_path, nothing_left):
    """It grows with each command, as the engine waits for the next one meanwhile."""
    with Session(make_task([model]), lambda: Engine(tmp_path)) as session:
        found = [session.loaded, session.prompt(0, 16), session.decode(4)]
    waited = [each["counted_seconds"] for each in found]
    assert 0 < waited[0] < waited[1] < waited[2] < sum(each["counters"].seconds for each in found)
