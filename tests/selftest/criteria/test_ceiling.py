"""How near decoding comes to its roofs, and how evenly tokens come."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.criteria.ceiling import percentile, stall_ratio
from streamworthy.criteria.decode import efficiency, stalls
from streamworthy.facts.roofs import Roof, RoofFacts
from streamworthy.verdict import Word
from tests.selftest.criteria.asked import limit
from tests.selftest.criteria.test_disturbed import under
from tests.selftest.engine.records import FAILURE, make_series
from tests.selftest.facts.test_cpu_load import LOAD

MIB = 2**20
ROOFS = RoofFacts(
    memory=Roof(name="memory", bytes_per_second=80.0, measured=True, basis="measured"),
    disk=Roof(name="disk", bytes_per_second=50 * MIB, measured=True, basis="measured"),
    bytes_per_token=4,
)
# 4 tok/s, 8 tokens and 40 MiB from the disk each: 5 MiB a token, so 10 tok/s by the disk and 20 by the memory
SERIES = make_series(2.0, 2.0, 2.0, 2.0, 2.0)
RESIDENT = replace(SERIES, samples=tuple(replace(sample, device_bytes=0) for sample in SERIES.samples))


def asked(**values):
    """Make a limit."""
    return limit("decode.x", **values)


@pytest.mark.parametrize(("at_least", "word"), [(0.41, Word.FAIL), (0.4, Word.PASS), (0.39, Word.PASS)])
def test_the_lower_roof_is_the_ceiling(at_least, word):
    """4 of 10 tok/s that the disk allows; inclusive."""
    found = efficiency(SERIES, ROOFS, asked(at_least=at_least))
    assert (found.word, found.value, found.measured) == (word, 0.4, "40.0 %")
    assert found.evidence[0] == "ceiling=10.0 tok/s by disk"
    assert bool(found.cause and found.fix) is (word is Word.FAIL)


def test_what_reads_nothing_has_no_disk_over_it():
    """4 of 20 tok/s that the memory allows."""
    found = efficiency(RESIDENT, ROOFS, asked(at_least=0.2))
    assert (found.word, found.value, found.evidence[0]) == (Word.PASS, 0.2, "ceiling=20.0 tok/s by memory")
    assert efficiency(RESIDENT, ROOFS, asked(at_least=0.21)).cause.startswith("compute (suspected): nothing is read")


def test_above_a_measured_roof_the_cache_is_not_what_it_seems():
    """Implausibly good is open, not good; exactly at the roof is good."""
    low = replace(ROOFS, disk=replace(ROOFS.disk, bytes_per_second=19.9 * MIB))
    found = efficiency(SERIES, low, asked(at_least=0.1))
    assert found.word is Word.INCONCLUSIVE
    assert found.cause.startswith("the cache state is not what it seems: 4.0 tok/s is above what disk gives")
    just = replace(ROOFS, disk=replace(ROOFS.disk, bytes_per_second=20.0 * MIB))
    assert efficiency(SERIES, just, asked(at_least=0.1)).word is Word.PASS


def test_above_the_tiers_reference_a_machine_is_only_better():
    """A roof that nobody measured says nothing against a rate."""
    assumed = replace(ROOFS, disk=replace(ROOFS.disk, bytes_per_second=MIB, measured=False))
    found = efficiency(SERIES, assumed, asked(at_least=0.1))
    assert (found.word, found.value) == (Word.PASS, 20.0)


@pytest.mark.parametrize(
    "judge", [lambda s: efficiency(s, ROOFS, asked(at_least=0.1)), lambda s: stalls(s, asked(at_most=2.0))]
)
def test_an_engine_that_failed_is_an_error(judge):
    """Nothing was measured."""
    assert judge(make_series(failure=FAILURE)).word is Word.ERROR


def test_a_low_share_beside_a_busy_neighbour_is_open():
    """As every rate."""
    found = efficiency(under(*[LOAD] * 5), ROOFS, asked(at_least=0.9))
    assert (found.word, found.cause[:10]) == (Word.INCONCLUSIVE, "other load")


def with_gaps(*gaps, count=5):
    """Make a series whose samples all have these gaps."""
    series = make_series(*[2.0] * count)
    return replace(series, samples=tuple(replace(sample, gap_seconds=gaps) for sample in series.samples))


STALLING = with_gaps(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 3.0)  # a tenth of all


@pytest.mark.parametrize(("at_most", "word"), [(2.9, Word.FAIL), (3.0, Word.PASS), (3.1, Word.PASS)])
def test_the_slow_tokens_are_held_against_the_middle_one(at_most, word):
    """Inclusive; all episodes together, each one's own ratio as a sample."""
    found = stalls(STALLING, asked(at_most=at_most))
    assert (found.word, found.value, found.samples) == (word, 3.0, (3.0,) * 5)
    assert found.evidence[0] == "gap=median 1.0 s, p95 3.0 s, longest 3.0 s of 50"


@pytest.mark.parametrize(("read", "words"), [(40 * MIB, "disk"), (0, "compute")])
def test_the_cause_of_stalls_follows_what_was_read(read, words):
    """Without reads the disk is not it."""
    series = replace(STALLING, samples=tuple(replace(sample, device_bytes=read) for sample in STALLING.samples))
    assert stalls(series, asked(at_most=2.0)).cause.startswith(f"{words} (suspected): ")


def test_a_handful_of_gaps_has_no_percentile():
    """19 are open, 20 are judged."""
    assert stalls(with_gaps(*[1.0] * 19, count=1), asked(at_most=2.0)).word is Word.INCONCLUSIVE
    few = replace(with_gaps(*[1.0] * 19, count=1), wanted_count=1)
    assert stalls(few, asked(at_most=2.0)).cause == "19 gaps between tokens, at least 20 wanted"
    assert stalls(replace(with_gaps(*[1.0] * 20, count=1), wanted_count=1), asked(at_most=2.0)).word is Word.PASS


@pytest.mark.parametrize(
    ("values", "rank"),
    [((1.0,), 1.0), (tuple(map(float, range(1, 21))), 19.0), (tuple(map(float, range(1, 101))), 95.0)],
)
def test_the_percentile_is_the_nearest_rank(values, rank):
    """No value that was not measured."""
    assert percentile(values) == rank


def test_a_clock_that_stood_still_is_no_stall():
    """A median of nothing divides nothing."""
    assert stall_ratio((0.0, 0.0, 1.0)) == 1.0
