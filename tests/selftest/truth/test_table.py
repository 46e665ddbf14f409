"""Whether what the suite said of a machine is right."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from streamworthy.facts.cause import Cause
from tests.selftest.engine.records import COUNTERS
from tests.selftest.truth.machines import MACHINES
from tests.selftest.truth.suite import RATE, Said
from tests.selftest.truth.table import Row, print_row


def row_of(name, word, *evidence, device_bytes=0, state="warm, steady"):
    """Make a row of one judged gate and one episode of two tokens."""
    phase = {"name": "decode", "tokens": 2, "device_bytes": device_bytes, "major_faults": 10}
    episode = {"state": state, "phases": [phase | {"counters": asdict(COUNTERS)}]}
    verdict = {"word": word, "value": 3.0, "cause": "too slow", "evidence": list(evidence)}
    facts = {"outcomes": {RATE: {"verdict": verdict}}, "performance": {"episodes": [episode]}}
    said = Said(facts=facts, seconds=9.0, output="")
    return Row(machine=MACHINES[name], size_bytes=10**9, seed=1, said=said)


@pytest.mark.parametrize(
    ("name", "word", "told", "read", "problem"),
    [
        ("healthy", "pass", "", 0, ""),
        ("healthy", "FAIL", "compute (suspected): slow", 0, "decode.warm_rate is FAIL, expected pass: slow"),
        ("RAM 1/2", "FAIL", "memory capacity (suspected): again", 2, ""),
        ("RAM 1/2", "FAIL", "memory capacity (confirmed): again", 2, ""),
        ("RAM 1/2", "FAIL", "memory capacity (suspected): again", 0, "nothing was read from the device: "),
        ("RAM 1/2", "FAIL", "disk (suspected): slow", 2, "the cause is memory capacity, told: disk: slow"),
        ("RAM 1/2", "FAIL", "", 2, "the cause is memory capacity, told: -: too slow"),
        ("RAM 1/2", "inconclusive", "memory capacity (suspected): again", 2, "decode.warm_rate is inconclusive, "),
        ("half of the cores busy", "inconclusive", "other load (suspected): a loop", 0, ""),
    ],
)
def test_a_row_is_right_when_word_cause_and_device_agree(name, word, told, read, problem):
    """The word, the cause, and that weights were read where memory is short; what is wrong is said."""
    row = row_of(name, word, *([f"bottleneck={told}"] if told else []), device_bytes=read)
    assert row.problem.startswith(problem)
    assert bool(row.problem) == bool(problem)


def test_a_suspected_cause_is_wrong_where_a_change_has_to_bear_it_out():
    """At depth full."""
    told = "bottleneck=memory capacity ({}): again"
    for sure, problem in (("suspected", "not confirmed: again"), ("confirmed", "")):
        row = row_of("RAM 1/2", "FAIL", told.format(sure), device_bytes=2)
        assert replace(row, confirm=True).problem == problem


def test_a_run_that_wrote_no_facts_is_wrong_and_shows_what_it_printed(capsys):
    """A suite that broke is no healthy machine."""
    row = Row(machine=MACHINES["healthy"], size_bytes=1, seed=1, said=Said(facts={}, seconds=1.0, output="Traceback"))
    print_row(row)
    assert row.problem == "decode.warm_rate is nothing, expected pass: "
    assert "Traceback" in capsys.readouterr().out


def test_a_row_shows_the_counters_that_the_rules_look_at(capsys):
    """Per second and per token, in the medians of the timed runs; what is not known is left out."""
    print_row(row_of("RAM 1/2", "FAIL", device_bytes=4 * 10**6))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["RAM", "1/2", "FAIL", "3.0", "2.0", "-", "memory", "capacity", "WRONG,", "9", "s"]
    assert "io_full 0.25" in lines[1]
    assert "device MB/s 208.7" in lines[1]
    assert "KB/major fault 400" in lines[1]
    assert "clock" not in lines[1]


def test_only_warm_runs_of_tokens_count():
    """The first tokens of a cold engine come from the disk on every machine."""
    assert row_of("healthy", "pass", device_bytes=9, state="cold").read_per_token_bytes is None


def test_every_cause_that_can_be_made_here_has_a_machine():
    """Heat and slow memory cannot."""
    not_made = {Cause.THROTTLING, Cause.MEMORY_BANDWIDTH}
    assert {machine.cause for machine in MACHINES.values()} == {"", *Cause} - not_made
