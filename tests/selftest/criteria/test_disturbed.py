"""A miss that another load may have caused decides nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.criteria import decode, first_token, load, prefill
from streamworthy.verdict import Word
from tests.selftest.criteria.asked import limit
from tests.selftest.engine.records import COUNTERS, MIB, make_series
from tests.selftest.facts.test_cpu_load import LOAD

CALM = replace(LOAD, others_cores=0.0, wait_share=0.0, busiest=())
GATES = [
    (decode.cold_rate, {"at_least": 5.0}),
    (decode.warm_rate, {"at_least": 5.0}),
    (prefill.rate, {"at_least": 5.0}),
    (first_token.cold, {"at_most": 1.9}),
    (first_token.warm, {"at_most": 1.9}),
    (load.mmap, {"at_most": 1.9}),
]


def under(*loads, seconds=2.0):
    """Make a series of equal samples, 4 tokens a second, each under a load."""
    series = make_series(*[seconds] * len(loads))
    samples = zip(series.samples, loads, strict=True)
    return replace(
        series,
        samples=tuple(replace(sample, counters=replace(COUNTERS, cpu=load)) for sample, load in samples),
    )


@pytest.mark.parametrize(("criterion", "bound"), GATES)
def test_a_miss_beside_a_busy_neighbour_is_inconclusive_with_its_name(criterion, bound):
    """Whole cause; the numbers stay."""
    found = criterion(under(*[LOAD] * 5), limit("x.y", **bound))
    assert found.word is Word.INCONCLUSIVE
    assert found.cause == (
        "other load (suspected): in 5 of 5 episodes cc1 (pid 7), 0.90 of a core (0.90 cores in all); "
        "each thread of the engine waited for a CPU 40.0 % of the time"
    )
    assert found.fix[0].startswith("end that process")
    assert len(found.samples) == 5


@pytest.mark.parametrize(("criterion", "bound"), GATES)
def test_a_miss_in_peace_is_one(criterion, bound):
    """Also where the kernel tells nothing about others."""
    for quiet in (CALM, None):
        assert criterion(under(*[quiet] * 5), limit("x.y", **bound)).word is Word.FAIL


@pytest.mark.parametrize(("criterion", "bound"), GATES)
def test_a_pass_beside_a_busy_neighbour_stays_one(criterion, bound):
    """Load only slows."""
    kind = {"at_least": 4.0, "at_most": 2.0}
    asked = limit("x.y", **{name: kind[name] for name in bound})
    found = criterion(under(*[LOAD] * 5), asked)
    assert found.word is Word.PASS
    assert "other_load=cc1 (pid 7), 0.90 of a core" in found.evidence


@pytest.mark.parametrize(
    ("loads", "word"),
    [
        ((CALM, CALM, CALM, LOAD, LOAD), Word.FAIL),
        ((CALM, CALM, LOAD, LOAD, LOAD), Word.INCONCLUSIVE),
        ((CALM, CALM, CALM, CALM, LOAD), Word.FAIL),
    ],
)
def test_a_majority_in_peace_that_misses_alone_decides(loads, word):
    """One disturbed episode is no excuse for four slow ones."""
    assert decode.warm_rate(under(*loads), limit("x.y", at_least=5.0)).word is word


@pytest.mark.parametrize(("loads", "word"), [([CALM] * 9 + [LOAD] * 6, Word.FAIL), ([LOAD] * 15, Word.INCONCLUSIVE)])
def test_a_count_that_decides_needs_peace_as_well(loads, word):
    """13 of 15 miss: the middle of the peaceful episodes has to miss as well, and to be of most of them."""
    series = under(*loads)
    seconds = [9.0, 2.0, 9.0, 2.0, *[9.0] * 11]
    samples = tuple(replace(sample, seconds=each) for sample, each in zip(series.samples, seconds, strict=True))
    assert decode.warm_rate(replace(series, samples=samples), limit("x.y", at_least=3.5)).word is word


def test_an_advised_limit_keeps_its_miss_and_learns_the_cause():
    """What is only advised does not leave a run undecided."""
    asked = replace(limit("x.y", at_least=5.0), level="advise")
    found = decode.warm_rate(under(*[LOAD] * 5), asked)
    assert (found.word, found.cause[:10]) == (Word.FAIL, "other load")


def test_too_few_cpus_for_the_threads_is_a_miss_with_that_cause():
    """It is a setting, which no waiting mends."""
    found = decode.warm_rate(under(*[replace(CALM, wait_share=0.8, allowed_cores=1.0)] * 5), limit("x.y", at_least=5.0))
    assert found.word is Word.FAIL
    assert (
        found.cause == "engine configuration (suspected): the engine's 2 threads may use 1 CPUs (affinity or quota) "
        "and wait for each other"
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"busiest": ()}, "processes that cannot be seen or have ended used 0.90 cores"),
        ({"steal_cores": 1.2}, "other guests of the hypervisor took 1.20 cores (steal)"),
    ],
)
def test_who_cannot_be_named_is_said_to_be_so(changes, words):
    """Short-lived processes, other containers, other guests."""
    found = decode.warm_rate(under(*[replace(LOAD, **changes)] * 5), limit("x.y", at_least=5.0))
    assert words in found.cause


def test_a_competing_reader_and_a_spoiled_cache_leave_a_miss_open():
    """Whoever makes the disk slow or drops the cache is not this machine."""
    read = tuple(
        replace(sample, counters=replace(COUNTERS, device_bytes=2**40), disturbers=("fio (pid 9), 1.8 GB/s",))
        for sample in under(*[CALM] * 5).samples
    )
    asked = limit("x.y", at_least=5.0)
    found = decode.warm_rate(replace(under(*[CALM] * 5), samples=read), asked)
    assert found.word is Word.INCONCLUSIVE
    assert found.cause == (
        "other load (suspected): in 5 of 5 episodes fio (pid 9), 1.8 GB/s: the device read 1.0 TiB, "
        "the engine 390.0 MiB of it"
    )
    spoiled = decode.warm_rate(replace(under(*[CALM] * 5), state="warm, resident"), asked)
    assert spoiled.word is Word.INCONCLUSIVE
    assert spoiled.cause == (
        "cache disturbed (suspected): in 5 of 5 episodes weights that had been in memory were read again, "
        "40.0 MiB in one of them"
    )


@pytest.mark.parametrize(
    ("available", "word"),
    [(200 * MIB, Word.FAIL), (270 * MIB, Word.FAIL), (271 * MIB, Word.INCONCLUSIVE), (4 * 2**30, Word.INCONCLUSIVE)],
)
def test_weights_that_have_room_and_are_read_all_the_same_were_dropped_by_others(available, word):
    """200 MiB of weights and 60 MiB of the engine's own: with a little more than that, memory is no bound."""
    calm = under(*[CALM] * 5)
    series = replace(calm, workload=replace(calm.workload, available_bytes=available))
    found = decode.warm_rate(series, limit("x.y", at_least=5.0))
    assert found.word is word
    assert found.cause.startswith("cache disturbed") is (word is Word.INCONCLUSIVE)
    assert decode.cold_rate(replace(series, state="cold"), limit("x.y", at_least=5.0)).word is Word.FAIL
