"""Memory's read rate against a limit, and when it is too unsteady to say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.criteria.bandwidth import read
from streamworthy.facts.bandwidth import BandwidthFacts, MemoryNode, NumaFacts, PlacedRates, ThreadRates
from streamworthy.verdict import Word
from tests.selftest.criteria.asked import limit

GB = 10**9


def rates(threads, *gigabytes):
    """Give passes in GB/s."""
    return ThreadRates(threads_count=threads, rates_bytes_per_second=tuple(each * GB for each in gigabytes))


FACTS = BandwidthFacts(
    sweep=(rates(1, 15, 16, 16), rates(2, 29, 30, 32), rates(4, 29, 31, 32)),
    knee_threads_count=2,
    scattered=rates(2, 25, 26, 27),
    slab_bytes=4 * 2**20,
    working_set_bytes=2**27,
    last_level_cache_bytes=2**25,
    numa=NumaFacts(nodes=(MemoryNode(number=0, cpus=(0, 1)),), zone_reclaim_mode=0, numa_balancing=None),
    placed=None,
    unplaced="one memory node: none is far",
)


@pytest.mark.parametrize(("at_least", "word"), [(30.1, Word.FAIL), (30, Word.PASS), (29.9, Word.PASS)])
def test_the_median_pass_at_the_knee_is_at_least_the_limit(at_least, word):
    """Inclusive; the sweep, the scattered rate and the nodes stand beside it."""
    found = read(FACTS, limit(at_least=at_least * GB))
    assert (found.word, found.value, found.samples) == (word, 30 * GB, (29 * GB, 30 * GB, 32 * GB))
    assert found.evidence == (
        "by_threads=1: 16.0 GB/s, 2: 30.0 GB/s, 4: 31.0 GB/s",
        "knee=2 threads",
        "steady=93.8 %",
        "scattered=26.0 GB/s in slabs of 4.0 MiB",
        "working_set=128.0 MiB",
        "last_level_cache=32.0 MiB",
        "numa_nodes=1",
        "numa_local=not measured: one memory node: none is far",
        "zone_reclaim_mode=0",
        "numa_balancing=unknown",
    )
    assert bool(found.cause and found.fix) is (word is Word.FAIL)


@pytest.mark.parametrize(
    ("passes", "at_least", "level", "word"),
    [
        ((30, 30, 40), 20, "require", Word.PASS),
        ((29.9, 29.9, 40), 20, "require", Word.INCONCLUSIVE),
        ((29.9, 29.9, 40), 35, "require", Word.INCONCLUSIVE),
        ((29.9, 29.9, 40), 41, "require", Word.FAIL),
        ((29.9, 29.9, 40), 20, "advise", Word.ADVICE),
    ],
    ids=["just steady", "unsteady and good", "unsteady and maybe good", "best misses", "advised"],
)
def test_passes_that_jump_decide_nothing_unless_the_best_misses(passes, at_least, level, word):
    """Below 75 % of the best pass something else uses memory or cores, which only ever makes it slower."""
    facts = replace(FACTS, sweep=(rates(2, *passes),))
    found = read(facts, replace(limit(at_least=at_least * GB), level=level))
    assert found.word is word
    assert ("unstable" in found.cause) is (word in (Word.INCONCLUSIVE, Word.ADVICE))


def test_an_unknown_cache_is_said():
    """Boards without cache information in sysfs."""
    assert "last_level_cache=unknown" in read(replace(FACTS, last_level_cache_bytes=None), limit(at_least=1)).evidence


def test_what_far_memory_costs_stands_beside_the_rate():
    """It is shown and never judged: where pages lie is the kernel's choice."""
    placed = PlacedRates(node=1, local=rates(2, 30, 31, 32), interleaved=rates(2, 20, 21, 22))
    found = read(replace(FACTS, placed=placed, unplaced=""), limit(at_least=30 * GB))
    assert found.word is Word.PASS
    assert "numa_local=31.0 GB/s by the cores of node 1, interleaved over all nodes 21.0 GB/s" in found.evidence
