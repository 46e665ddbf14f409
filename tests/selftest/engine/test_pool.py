"""Episodes of a real engine on a real model, judged by every performance gate."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace

import pytest

from streamworthy.bench.residency import residency
from streamworthy.criteria import decode, load
from streamworthy.engine import metrics
from streamworthy.engine.build import probe_build
from streamworthy.engine.pool import Pool
from streamworthy.engine.remedies import INSTALL
from streamworthy.engine.runner import Engine
from streamworthy.verdict import Word
from tests.selftest.criteria.asked import limit
from tests.selftest.engine.real_model import copy_real_model
from tests.selftest.engine.run_pool import PLAN, judge_all, make_task
from tests.selftest.engine.test_runner import is_running

_MAP_AND_WAIT = """
import mmap, sys
with open(sys.argv[1], 'rb') as file:
    area = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    print('mapped', flush=True)
    sys.stdin.read()
"""
_PLAN = replace(PLAN, prompt_tokens=16, decode_tokens=4, lock_bytes=16384)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Give a real model file."""
    path = copy_real_model(tmp_path_factory.mktemp("model"))
    yield path
    path.unlink()


@pytest.fixture
def make_pool(model, tmp_path):
    """Make pools over the model, closed at the end."""
    made = []

    def make(*, budget_seconds=3600.0, disturb=True, start=Engine, wanted=None, **changes):
        pool = Pool(
            make_task([model], **({"plan": _PLAN} | changes)),
            scratch=tmp_path,
            budget_seconds=budget_seconds,
            depth="quick",
            disturb=disturb,
            progress=print,
            wanted=wanted,
            start=start,
        )
        made.append(pool)
        return pool

    yield make
    for pool in made:
        pool.close()
    assert list(tmp_path.iterdir()) == []


def test_every_gate_passes_on_a_real_model(make_pool):
    """Five samples each, with the state they were taken in; the answer is that of a working model."""
    pool = make_pool()
    verdicts = judge_all(pool)

    assert {gate: (v.word, v.cause) for gate, v in verdicts.items()} == dict.fromkeys(verdicts, (Word.PASS, ""))
    assert all(
        len(v.samples) == 5 for gate, v in verdicts.items() if gate not in {"load.mapped_share", "decode.answer"}
    )
    assert pool.answers.texts[0].startswith(" Paris")
    assert {episode.state for episode in pool.episodes} == {"cold", "warm, resident"}
    assert all(episode.engine.locked_bytes >= 16384 for episode in pool.episodes)
    cold = [episode for episode in pool.episodes if episode.state == "cold"]
    assert all(phase.before.share <= 0.01 for episode in cold for phase in episode.phases if phase.name == "decode")
    assert all(sample.device_bytes > 0 for sample in pool.decode_cold.samples)
    assert all(sample.resident_share >= 0.99 for sample in pool.decode_warm.samples)
    assert all(sample.counters.seconds >= sample.seconds for sample in pool.first_token_cold.samples)
    assert all(sample.counters.engine_bytes >= sample.device_bytes for sample in pool.decode_cold.samples)
    assert pool.build.version


@pytest.mark.parametrize(("goal", "count"), [(7, 7), (99, 15)])
def test_episodes_go_on_while_a_gate_of_their_kind_wants_more(make_pool, goal, count):
    """Up to the last look of the depth; a gate that wants fewer gets the same episodes."""
    asked = set()

    def wanted(series):
        asked.add(series.metric)
        return max(0, goal - len(series.samples)) if series.metric == "prefill.rate" else 0

    pool = make_pool(wanted=wanted)

    assert (len(pool.prefill.samples), len(pool.first_token_warm.samples)) == (count, count)
    assert asked == {"prefill.rate", "first_token.warm"}


def test_nothing_is_evicted_under_a_process_that_maps_the_shards(make_pool, model):
    """The gates are inconclusive with its name, no engine starts, and the page cache stays as it was."""

    def never(_scratch):
        raise AssertionError("an engine was started")

    model.read_bytes()
    with subprocess.Popen(
        [sys.executable, "-c", _MAP_AND_WAIT, str(model)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        other.stdout.readline()
        verdicts = judge_all(make_pool(disturb=False, start=never))
        left = residency([model]).share
        other.stdin.close()

    assert {v.word for v in verdicts.values()} == {Word.INCONCLUSIVE}
    assert all(f"(pid {other.pid})" in v.cause for v in verdicts.values())
    assert left >= 0.9  # an idle page may have been paged out by the kernel


def test_a_missing_engine_is_an_error_of_every_gate(make_pool):
    """The install line stands with each, and the import is tried once."""
    started = []

    def start(scratch):
        started.append(scratch)
        return Engine(scratch, command=(sys.executable, "-S", "-P", "-m", "streamworthy.engine.child"))

    verdicts = judge_all(make_pool(start=start))

    assert {v.word for v in verdicts.values()} == {Word.ERROR}
    assert all("llama_cpp cannot be imported" in v.cause for v in verdicts.values())
    assert {v.fix for v in verdicts.values()} == {(INSTALL,)}
    assert len(started) == 1


def test_an_engine_that_dies_at_once_is_named_all_the_same(make_pool):
    """Which build of another CPU it was is what the reader of an illegal instruction asks first."""
    dies = (sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGILL)")
    pool = make_pool(start=lambda scratch: Engine(scratch, command=dies))

    assert pool.build is None
    assert "SIGILL" in pool.decode_warm.failure.message
    assert pool.build == probe_build()


def test_an_engine_killed_in_the_middle_is_an_error_with_its_log(make_pool):
    """The evidence is the end of the engine's log; the process is gone."""
    pids = []

    def start(scratch):
        engine = Engine(scratch)
        pids.append(engine.pid)
        threading.Timer(1.2, os.kill, (engine.pid, signal.SIGKILL)).start()
        return engine

    found = make_pool(start=start, plan=replace(_PLAN, context_tokens=8192, decode_tokens=4000)).decode_warm

    assert "SIGKILL" in found.failure.message
    assert found.samples == ()
    assert decode.warm_rate(found, limit("decode.warm_rate", at_least=0.1)).word is Word.ERROR
    assert not is_running(pids[0])


def test_a_budget_for_less_than_five_episodes_keeps_the_samples(make_pool):
    """Inconclusive says how long it would take; what was measured is shown."""
    found = make_pool(budget_seconds=4.0, disk_bytes_per_second=1e9).decode_cold
    verdict = decode.cold_rate(found, limit("decode.cold_rate", at_least=0.1))

    assert verdict.word is Word.INCONCLUSIVE
    assert 1 <= len(verdict.samples) < 5
    assert "the depth quick gives 4.0 s for all episodes; 5 cold episodes need about" in verdict.cause


def test_repacked_weights_have_no_cold_decode(make_pool):
    """Nothing is run to find that out, and the mapped share is not asked either."""
    pool = make_pool(plan=replace(_PLAN, repack=True))

    assert pool.series(metrics.DECODE_COLD).excluded.startswith("the engine keeps the weights in its own memory")
    assert pool.episodes == ()


def test_a_wrong_answer_leaves_no_speed(make_pool):
    """An answer other than the stored one fails its gate and makes the rate inconclusive."""
    pool = make_pool(answer_reference=(1, 2, 3))
    rate = decode.warm_rate(pool.decode_warm, limit("decode.warm_rate", at_least=0.1))

    assert decode.answer(pool.answers, limit("decode.answer")).word is Word.FAIL
    assert rate.word is Word.INCONCLUSIVE
    assert rate.cause.startswith("no speed counts without a sound answer: the sample model answers")


def test_weights_copied_to_anonymous_memory_fail(make_pool):
    """An engine that reads instead of mapping is found by the sizes of its maps, whatever was asked."""
    pool = make_pool(plan=replace(_PLAN, mmap=False))
    mapping = replace(pool.mapping, mmap_asked=True)

    verdict = load.mapped_share(mapping, limit("load.mapped_share", at_least=0.98, anonymous_at_most=1.3))

    assert verdict.word is Word.FAIL
    assert verdict.measured.startswith("0.0 % mapped, anonymous")
    assert "load mode none" in verdict.cause


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="dropping a capability needs root")
def test_a_region_that_may_not_be_locked_spoils_no_number(make_pool):
    """The state says that nothing is locked; the gate memory.memlock says why."""
    drop = ("setpriv", "--bounding-set", "-ipc_lock", "--inh-caps", "-ipc_lock")
    child = (sys.executable, "-P", "-m", "streamworthy.engine.child")
    command = ("sh", "-c", 'ulimit -l 0; exec "$0" "$@"', *drop, *child)

    pool = make_pool(start=lambda scratch: Engine(scratch, command=command))

    assert len(pool.decode_warm.samples) == 5
    assert {episode.engine.locked_bytes for episode in pool.episodes} == {0}
