"""What disks deliver against limits, and when a number is not the disk's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.criteria import disk
from streamworthy.verdict import Word
from tests.selftest.criteria.asked import limit
from tests.selftest.criteria.disk_reads import (
    CACHED,
    GB,
    LARGE,
    LATENCY,
    MAPPED,
    MIB,
    RATE,
    READ_AHEAD,
    REFUSED,
    SEQUENTIAL,
    SIZE,
    SLABS,
    SPARSE,
    STATE,
    SUSTAINED,
    slabs,
)

RATES = limit(at_least=3.0 * GB)
ADVISED = replace(RATES, level="advise", unknown="advise")


def judge_all(state, **level):
    """Ask every gate about sound numbers in one state, at limits that they meet."""

    def asked(**values):
        return replace(limit(**values), **level)

    return {
        "sequential_read": disk.sequential_read(replace(SEQUENTIAL, state=state), asked(at_least=GB)),
        "random_read": disk.random_read(replace(LATENCY, state=state), asked(at_most=1e-3)),
        "slab_read": disk.slab_read(replace(SLABS, state=state), asked(at_least=GB)),
        "read_amplification": disk.read_amplification(replace(SLABS, state=state), READ_AHEAD, asked(at_most=1.25)),
        "sustained": disk.sustained(replace(SUSTAINED, state=state), asked(at_least=0.7)),
    }


@pytest.mark.parametrize(("at_least", "word"), [(3.01, Word.FAIL), (3.0, Word.PASS), (2.99, Word.PASS)])
@pytest.mark.parametrize("ask", ["sequential_read", "slab_read"])
def test_the_median_round_is_at_least_the_limit(ask, at_least, word):
    """Inclusive, for reads in order and for slabs; a miss names the rate and how to look at link and drive."""
    facts = SEQUENTIAL if ask == "sequential_read" else SLABS
    found = getattr(disk, ask)(facts, limit(at_least=at_least * GB))
    assert (found.word, found.value, found.unit) == (word, 3.0 * GB, "bytes_per_second")
    assert found.samples == RATE.rates_bytes_per_second
    assert ("3.0 GB/s" in found.cause, "nvme0n1" in "".join(found.fix)) == ((word is Word.FAIL,) * 2)
    assert {"queue_depth_1=1.0 GB/s", "devices=nvme0n1", "temperature=45 C"} <= set(found.evidence)
    how = "in order" if ask == "sequential_read" else "slabs"
    assert {f"reads=1.0 MiB {how}, 8 in flight, O_DIRECT", "rounds=3 in 3.0 s"} <= set(found.evidence)


@pytest.mark.parametrize(
    ("device", "tools"),
    [("nvme0n1", ["nvme", "smartctl"]), ("sda", ["smartctl", "keep"]), ("vda", ["give"]), ("xvdb", ["give"])],
)
def test_what_to_do_about_a_slow_disk_fits_the_disk(device, tools):
    """A virtual disk has no link to look at, and a SATA drive no NVMe tools."""
    found = disk.sequential_read(replace(SEQUENTIAL, state=replace(STATE, devices=(device,))), limit(at_least=9 * GB))
    assert [line.removeprefix("sudo ").split()[0] for line in found.fix] == tools


@pytest.mark.parametrize(
    ("share", "at_least", "word"),
    [
        (1.0, 3.01, Word.FAIL),
        (1.05, 3.01, Word.FAIL),
        (1.2, 3.01, Word.INCONCLUSIVE),
        (1.2, 3.59, Word.INCONCLUSIVE),
        (1.2, 3.61, Word.FAIL),
        (1.2, 3.0, Word.PASS),
    ],
)
def test_a_miss_beside_another_reader_is_open_where_the_disk_gave_enough_to_both(share, at_least, word):
    """A disk that is too slow even with what the other got stays too slow; a pass is one all the more."""
    rate = replace(RATE, device_bytes=int(RATE.own_bytes * share))
    facts = replace(SEQUENTIAL, eight=rate, state=replace(STATE, disturbers=("cp (pid 9), 600.0 MB/s",)))
    found = disk.sequential_read(facts, limit(at_least=at_least * GB))
    assert found.word is word
    assert ("cp (pid 9)" in found.cause) is (word is Word.INCONCLUSIVE)


def test_latency_and_a_minute_beside_another_reader_are_open():
    """Its reads wait in the same queue; where the tier only advises, so does the doubt."""
    slow = disk.random_read(replace(LATENCY, device_bytes=2**20), limit(at_most=99e-6))
    falling = disk.sustained(replace(SUSTAINED, device_bytes=200 * GB), limit(at_least=0.9))
    advised = disk.sustained(replace(SUSTAINED, device_bytes=200 * GB), replace(limit(at_least=0.9), level="advise"))
    assert (slow.word, falling.word, advised.word) == (Word.INCONCLUSIVE, Word.INCONCLUSIVE, Word.ADVICE)
    assert falling.cause.startswith("another reader came in: the devices read 186.3 GiB, this process 154.6 GiB of it")
    assert disk.random_read(replace(LATENCY, device_bytes=None), limit(at_most=99e-6)).word is Word.FAIL


def test_the_slowest_slab_size_decides():
    """Of two sizes the slower rate is judged and both are shown."""
    slow = replace(SIZE, slab_bytes=4 * MIB, eight=replace(RATE, rates_bytes_per_second=(1.5 * GB,)))
    found = disk.slab_read(replace(SLABS, sizes=(slow, SIZE)), RATES)
    assert (found.word, found.value) == (Word.FAIL, 1.5 * GB)
    assert "slabs of 4.0 MiB" in found.cause
    assert any(line.startswith(f"slab_{6 * MIB}=3.0 GB/s by O_DIRECT x8") for line in found.evidence)


@pytest.mark.parametrize(("at_most", "word"), [(99e-6, Word.FAIL), (100e-6, Word.PASS), (101e-6, Word.PASS)])
def test_the_median_latency_is_at_most_the_limit(at_most, word):
    """Inclusive; p99 and reads a second stand beside it."""
    found = disk.random_read(LATENCY, limit(at_most=at_most))
    assert (found.word, found.value, found.unit, found.samples) == (word, 100e-6, "seconds", LATENCY.latencies_seconds)
    assert "p99=900 us of 3 reads" in found.evidence
    assert "reads_a_second=9000 at queue depth 1, 250000 at 32" in found.evidence
    assert bool(found.cause and found.fix) is (word is Word.FAIL)


@pytest.mark.parametrize(("at_most", "word"), [(1.19, Word.FAIL), (1.2, Word.PASS), (1.25, Word.PASS)])
def test_device_bytes_are_at_most_a_multiple_of_what_was_asked(at_most, word):
    """120 MiB for 100 MiB are 1.2; the evidence holds both and how cold it began."""
    found = disk.read_amplification(SLABS, READ_AHEAD, limit(at_most=at_most))
    assert (found.word, found.value, found.measured) == (word, 1.2, "1.20x")
    assert {"device_bytes=120.0 MiB for 100.0 MiB", "resident_before=0.1 %"} <= set(found.evidence)


def test_a_large_read_ahead_is_named_with_the_lines_that_change_it():
    """The cause names setting, slab and cost; the fix is for this device, now and at the next boot."""
    worse = replace(MAPPED, own_bytes=700 * MIB, device_bytes=700 * MIB)
    found = disk.read_amplification(slabs(mapped=worse), LARGE, limit(at_most=1.25))
    assert found.word is Word.FAIL
    assert found.cause == (
        "7.0 bytes are read for each byte of a slab of 6.0 MiB: read-ahead of nvme0n1 is 8.0 MiB "
        "(/sys/block/nvme0n1/queue/read_ahead_kb)"
    )
    assert found.fix[0] == "sudo blockdev --setra 512 /dev/nvme0n1  # now; restart the engine"
    assert 'ATTR{queue/read_ahead_kb}="256"' in found.fix[1]


@pytest.mark.parametrize(("at_least", "word"), [(0.801, Word.FAIL), (0.8, Word.PASS), (0.799, Word.PASS)])
def test_the_last_third_is_at_least_a_share_of_the_first(at_least, word):
    """2.4 of 3.0 GB/s are 80 %; the temperature stands beside it."""
    found = disk.sustained(SUSTAINED, limit(at_least=at_least))
    assert (found.word, found.value, len(found.samples)) == (word, pytest.approx(0.8), 60)
    assert "heat=40 to 71 C" in found.evidence


def test_a_minute_that_was_not_asked_does_not_apply():
    """Below --depth full the gate says how to ask."""
    facts = replace(SUSTAINED, skipped="at --depth full only", rates_bytes_per_second=())
    assert disk.sustained(facts, limit(at_least=0.7)).word is Word.NOT_APPLICABLE


def test_places_read_twice_and_no_sensor_are_said():
    """What weakens a sustained rate stands in the evidence."""
    found = disk.sustained(replace(SUSTAINED, wrapped=True, celsius_after=None), limit(at_least=0.7))
    assert "heat=unknown" in found.evidence
    assert any(line.startswith("places=read again") for line in found.evidence)


@pytest.mark.parametrize("gate", ["slab_read", "read_amplification"])
def test_a_dense_model_has_no_slabs(gate):
    """Nothing is asked of what is not there."""
    facts = replace(SLABS, sizes=(), dense="the model has no experts")
    arguments = (facts, READ_AHEAD) if gate == "read_amplification" else (facts,)
    assert getattr(disk, gate)(*arguments, limit(at_most=1.25, at_least=GB)).word is Word.NOT_APPLICABLE


def test_sound_numbers_pass():
    """The state of all tests here is one in which nothing speaks against a number."""
    assert {found.word for found in judge_all(STATE).values()} == {Word.PASS}


@pytest.mark.parametrize(
    ("state", "open_gates"),
    [
        (SPARSE, {"sequential_read", "random_read", "slab_read", "read_amplification", "sustained"}),
        (CACHED, {"sequential_read", "random_read", "slab_read", "sustained"}),
    ],
)
def test_what_may_be_better_than_the_disk_is_inconclusive_and_not_good(state, open_gates):
    """A number that memory may have made decides nothing; how many bytes are asked of a host does not depend on it."""
    found = judge_all(state)
    assert {gate for gate in found if found[gate].word is Word.INCONCLUSIVE} == open_gates
    assert {found[gate].cause for gate in open_gates} == set(state.doubts)
    advised = judge_all(state, level="advise", unknown="advise")
    assert {gate for gate in advised if advised[gate].word is Word.ADVICE} == open_gates


def test_what_misses_with_help_misses():
    """A cache makes nothing slower: a miss stays a failure, with the doubt beside it."""
    found = disk.sequential_read(replace(SEQUENTIAL, state=CACHED), limit(at_least=5 * GB))
    assert found.word is Word.FAIL
    assert f"doubt={CACHED.doubts[0]}" in found.evidence


def test_a_disturbed_disk_is_not_read():
    """Who disturbs is named, and what to do; where the tier only advises it is advice."""
    refused = {
        "sequential_read": disk.sequential_read(replace(SEQUENTIAL, one=None, eight=None, state=REFUSED), RATES),
        "random_read": disk.random_read(replace(LATENCY, latencies_seconds=(), state=REFUSED), limit(at_most=1.0)),
        "slab_read": disk.slab_read(replace(SLABS, sizes=(), state=REFUSED), RATES),
        "read_amplification": disk.read_amplification(
            replace(SLABS, sizes=(), state=REFUSED), READ_AHEAD, limit(at_most=1.25)
        ),
        "sustained": disk.sustained(replace(SUSTAINED, rates_bytes_per_second=(), state=REFUSED), limit(at_least=0.7)),
    }
    expected = (Word.INCONCLUSIVE, REFUSED.refused, REFUSED.refused_fix)
    assert {gate: (found.word, found.cause, found.fix) for gate, found in refused.items()} == dict.fromkeys(
        refused, expected
    )
    advised = disk.sequential_read(replace(SEQUENTIAL, one=None, eight=None, state=REFUSED), ADVISED)
    assert advised.word is Word.ADVICE


def test_a_disk_that_was_not_read_for_no_known_reason_is_an_error():
    """Unknown is not safe."""
    found = disk.sequential_read(replace(SEQUENTIAL, one=None, eight=None), RATES)
    assert (found.word, found.measured) == (Word.ERROR, "unknown")


@pytest.mark.parametrize(
    ("facts", "cause"),
    [
        (replace(SLABS, warm="12.0 % stays in the page cache: mapped by llama-server (pid 7)"), "mapped by llama-ser"),
        (slabs(mapped=None), "are not known"),
        (slabs(mapped=replace(MAPPED, device_bytes=None)), "are not known"),
        (slabs(mapped=replace(MAPPED, device_bytes=400 * MIB)), "another reader came in: the devices read 400.0 MiB"),
        (slabs(mapped=replace(MAPPED, device_bytes=50 * MIB)), "memory answered the rest"),
    ],
    ids=["warm", "not mapped", "devices unknown", "another reader", "answered by memory"],
)
def test_an_amplification_that_was_not_seen_is_inconclusive(facts, cause):
    """Not cold, not counted, or counted for somebody else: no number."""
    found = disk.read_amplification(facts, READ_AHEAD, limit(at_most=1.25))
    assert found.word is Word.INCONCLUSIVE
    assert cause in found.cause
