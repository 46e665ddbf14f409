"""The same verdicts in every world, but for what cannot be seen there: that is said, with the reason and what to do."""

from __future__ import annotations

import sys

import pytest

from tests.selftest.face.running import command, read_report
from tests.selftest.privilege.entered import enter, verdicts
from tests.selftest.privilege.worlds import WORLDS

pytestmark = pytest.mark.root
OF_THE_MOMENT = ("kernel.pressure", "storage.quiet")  # others may begin or end between two runs
CACHE = [sys.executable, "-m", "streamworthy.cli", "cache"]


def world(name):
    """Find a world."""
    return next(each for each in WORLDS if each.name == name)


def settled(gate, status):
    """Give a gate's word; that others were seen or not is one."""
    return "looked" if gate in OF_THE_MOMENT and status in ("pass", "advice", "inconclusive") else status


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_only_what_cannot_be_seen_is_lost(stage, roots, world):
    """Every word is root's, but for those listed; each of these says why, and what to do."""
    run = verdicts(stage, world)
    assert "Traceback" not in run.screen
    told = {gate: settled(gate, case.status) for gate, case in run.cases.items()}
    expected = {gate: settled(gate, case.status) for gate, case in roots.cases.items()}
    assert told == expected | {gate: word for gate, (word, _) in world.differs.items()}, run.screen
    for gate, (word, cause) in world.differs.items():
        assert cause in run.cases[gate].properties["cause"]
        assert word != "error" or "  fix   " in run.cases[gate].text, gate


def test_a_hash_without_a_place_to_keep_it_is_still_told(stage):
    """The result is not kept, which is said beside it."""
    for name in ("a home that cannot be written", "a user without name and home"):
        found = verdicts(stage, world(name), "tests/gates/model/test_integrity.py").cases["integrity.hashes"]
        assert (found.status, "hash results are not kept" in str(found.properties)) == ("pass", True)


def test_without_a_home_a_run_is_anonymous_and_asks_for_a_folder(stage):
    """Names are hidden all the same, and the sample is not written to a place that nobody named."""
    nameless = world("a user without name and home")
    hidden = verdicts(stage, nameless, "tests/gates/host/test_kernel.py", "--anonymous")
    assert (hidden.cases["kernel.version"].status, "Traceback" in hidden.screen) == ("pass", False)
    asked = enter(stage, nameless, command("tests/gates/host/test_kernel.py"))
    assert (asked.returncode, "--scratch FOLDER" in asked.stdout, "Traceback" in asked.stdout) == (10, True, False)


@pytest.mark.parametrize("name", ["an ordinary user", "root of a user namespace"])
def test_strangers_ask_for_a_sample_of_the_page_cache(stage, name):
    """Of root's shards cachestat tells them nothing, and mincore a lie: that all is resident."""
    evicted = enter(stage, world(name), [*CACHE, "evict", stage.model])
    assert evicted.returncode == 0, evicted.stdout + evicted.stderr
    assert "(nowait sample)" in evicted.stdout
    shown = enter(stage, world(name), [*CACHE, "show", "--json", stage.model])
    assert "nowait sample" in shown.stdout
    assert "mincore" not in shown.stdout


@pytest.mark.parametrize("name", ["a filter of system calls", "root under a filter"])
def test_a_page_cache_that_cannot_be_asked_is_unknown(stage, name):
    """No share is made up where every interface is denied."""
    for action in ("show", "evict"):
        asked = enter(stage, world(name), [*CACHE, action, stage.model])
        assert asked.returncode not in (0, 1), asked.stdout
        assert "no interface of this kernel tells what the page cache holds" in asked.stderr
        assert "Traceback" not in asked.stderr


@pytest.mark.slow
@pytest.mark.parametrize("model", ["the user's own sample", "root's shards"])
def test_an_ordinary_user_gets_numbers(stage, model):
    """Loading and decoding are timed without root, also from shards of somebody else, whose residency is sampled."""
    gates = [f"tests/gates/performance/test_{name}" for name in ("load.py::test_mmap", "decode.py::test_warm_rate")]
    given = ("--model", stage.model, "--tier", stage.tier) if model == "root's shards" else ()
    written = (*given, "--scratch", stage.folder / "out" / "scratch", "--report", stage.folder / "out" / "report")
    done = enter(stage, world("an ordinary user"), command(*gates, "--depth", "quick", "--disturb", *written))
    assert "Traceback" not in done.stdout + done.stderr
    _, cases = read_report(stage.folder / "out" / "report" / "junit.xml")
    assert set(cases) == {"load.mmap", "decode.warm_rate"}
    for case in cases.values():
        assert case.status in ("pass", "advice", "FAIL", "inconclusive"), case.text
        assert case.properties["samples"].split()
