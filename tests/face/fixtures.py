"""What gates ask for: the machine, the model, the engine's episodes, the limit, and the judge's seat."""

from __future__ import annotations

import pytest

from streamworthy.criteria.series import unrecorded
from streamworthy.verdict import Word, not_applicable
from tests.face.outcome import Settled, why_of
from tests.face.run import gate_of, run_of


@pytest.fixture
def run(request):
    """The session's qualification."""
    return run_of(request.config)


@pytest.fixture
def limit(request, run, require):
    """What the tier requires of this gate; a gate that the tier excludes ends here, before anything is measured."""
    found = run.limit(gate_of(request.node))
    if found.level == "not_applicable":
        require(not_applicable(found.reason))
    return found


@pytest.fixture
def require(request, run):
    """Take the gate's verdict."""
    gate, why = gate_of(request.node), why_of(request.node)

    def settle(found):
        outcome = run.settle(gate, found, why=why)
        if outcome.verdict.word not in (Word.PASS, Word.ADVICE):
            raise Settled(outcome.verdict.word)

    return settle


@pytest.fixture
def machine(run):
    """The machine that is judged; each of its facts is probed when it is first asked for."""
    return run.machine


@pytest.fixture
def plan(run):
    """What the tier asks the engine to do."""
    return run.tier.plan


@pytest.fixture
def model(run, require):
    """The shards that are judged."""
    if run.subject is None:
        require(not_applicable("no model was given with the captured machine"))
    return run.subject


@pytest.fixture
def performance(run, require):
    """The pool of timed episodes."""
    pool = run.performance()
    if pool is None:
        require(not_applicable("a captured machine cannot run an engine"))
    return pool


@pytest.fixture
def bench(run, require):
    """What measures disk and memory, without an engine."""
    found = run.measurements()
    if found is None:
        require(not_applicable("a captured machine cannot be measured"))
    return found


@pytest.fixture
def settled(machine, limit):
    """Look at the machine until it is as the gate wants it, for as long as it is worth waiting."""
    from streamworthy.bench.preconditions import PATIENCE_SECONDS, wait_until

    patience = PATIENCE_SECONDS if machine.root.live and limit.level == "require" else 0.0

    def wait(look, judge):
        sound = (Word.PASS, Word.NOT_APPLICABLE, Word.ERROR)
        return wait_until(
            lambda: look(machine), lambda facts: judge(facts, limit).word in sound, patience_seconds=patience
        )

    return wait


@pytest.fixture
def roofs(run, bench, model):
    """What memory and disk give at best, measured in this run where that was possible."""
    from streamworthy.bench.roofs import find_roofs

    return find_roofs(bench, run.tier.reference.roofs, bytes_per_token=model.sizes.bytes_per_token)


@pytest.fixture
def lock_proof(run):
    """Give a function that locks what the tier locks in an engine child and tells what the kernel says is locked."""
    return run.lock_proof


@pytest.fixture
def record(request, limit, require):
    """Put what was measured into pytest-benchmark, on a virtual clock, and give it back to be judged.

    Where pytest-benchmark is switched off nothing would be kept, so nothing is measured and nothing is decided.
    """
    if request.config.getoption("benchmark_disable"):
        require(unrecorded())
    from streamworthy.report.recording import VirtualClock
    from streamworthy.report.recording import record as record_rounds

    clock = VirtualClock()
    request.node.add_marker(pytest.mark.benchmark(timer=clock))
    return lambda found: record_rounds(found, clock, lambda: request.getfixturevalue("benchmark"))
