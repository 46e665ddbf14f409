"""Whether what has to stay in memory does."""

from dataclasses import replace

import pytest

from streamworthy.criteria import fit
from streamworthy.facts.fit import LedgerFacts, LedgerLine
from streamworthy.verdict import Word, verdict
from tests.selftest.criteria.asked import limit

GIB = 2**30


def line(name, gib):
    """Make a line of the ledger."""
    return LedgerLine(name=name, size_bytes=gib * GIB, basis="as told")


FACTS = LedgerFacts(
    dense=line("dense weights", 10),
    experts=line("expert weights", 40),
    anonymous=(line("KV cache", 3), line("compute buffers", 1)),
    available_bytes=24 * GIB,
    available_basis="MemAvailable",
    partial=False,
    held="",
)


def streaming(reserve=2):
    """Make the limit of a tier that streams experts."""
    return limit(reserve=reserve * GIB, weights_in_memory=False)


HOLDING = limit(reserve=2 * GIB, weights_in_memory=True)


def test_a_streaming_tier_needs_the_dense_weights_only():
    """The whole verdict of a pass, with what is left for experts."""
    assert fit.ledger(FACTS, streaming()) == verdict(
        Word.PASS,
        measured="needs 16.0 GiB, 24.0 GiB available",
        required="at most 24.0 GiB (MemAvailable)",
        value=16.0 * GIB,
        unit="bytes",
        evidence=(
            "KV cache=3.0 GiB (as told)",
            "compute buffers=1.0 GiB (as told)",
            "dense weights=10.0 GiB (as told)",
            "reserve=2.0 GiB",
            "left for experts=8.0 GiB of 40.0 GiB (20.0 %)",
        ),
    )


@pytest.mark.parametrize(
    ("available", "word"), [(16 * GIB - 1, Word.FAIL), (16 * GIB, Word.PASS), (17 * GIB, Word.PASS)]
)
def test_the_need_is_judged_at_what_is_available(available, word):
    """A need of exactly what is there fits; one byte less does not."""
    assert fit.ledger(replace(FACTS, available_bytes=available), streaming()).word is word


def test_the_reserve_is_part_of_the_need():
    """Nine gibibytes more for the system are one too many."""
    assert fit.ledger(FACTS, streaming(10)).word is Word.PASS
    assert fit.ledger(FACTS, streaming(11)).word is Word.FAIL


def test_a_tier_that_holds_all_weights_counts_the_bank():
    """The cause names what is too large, and by how much."""
    found = fit.ledger(FACTS, HOLDING)
    assert (found.word, found.value) == (Word.FAIL, 56.0 * GIB)
    assert found.cause == "the whole model is 32.0 GiB too large; most of it: expert weights, 40.0 GiB"
    assert found.fix[-1] == "take a smaller quantisation, or a tier that streams experts"
    assert fit.ledger(replace(FACTS, available_bytes=56 * GIB), HOLDING).word is Word.PASS


def test_a_reserve_that_is_most_of_the_need_is_named():
    """On a small machine it is not the model that is too large."""
    found = fit.ledger(FACTS, streaming(11))
    assert found.cause.endswith("1.0 GiB too large; most of it: reserve, which the tier leaves to the system, 11.0 GiB")


def test_a_control_group_that_limits_is_in_the_remedy():
    """In a container the limit is what can be raised."""
    found = fit.ledger(replace(FACTS, available_bytes=GIB, available_basis="control group /a"), streaming())
    assert found.required == "at most 1.0 GiB (control group /a)"
    assert found.fix[0].startswith("systemctl show --property=MemoryMax")


def test_missing_shards_leave_the_question_open():
    """Sizes are lower bounds then."""
    found = fit.ledger(replace(FACTS, partial=True), streaming())
    assert (found.word, found.measured) == (Word.ERROR, "unknown")


def test_an_engine_that_holds_the_weights_needs_room_for_all_of_them():
    """A tier that streams and repacks contradicts itself: the copy is killed at the load, which is known before."""
    told = "repack = true copies the weights into the engine's own memory"
    found = fit.ledger(replace(FACTS, held=told), streaming())
    assert (found.word, found.value) == (Word.FAIL, 56.0 * GIB)
    assert found.cause.startswith(f"{told}: the whole model is 32.0 GiB too large")
    assert found.fix[0].startswith("in [engine]: mmap = true, repack = false")
    assert fit.ledger(replace(FACTS, held=told, available_bytes=56 * GIB), streaming()).word is Word.PASS


def test_a_tier_that_holds_the_weights_is_not_told_to_stream_them():
    """There the model is too large, and locking it is what the tier is for."""
    found = fit.ledger(replace(FACTS, held='lock = "weights" keeps all weights in memory'), HOLDING)
    assert found.cause.startswith("the whole model is 32.0 GiB too large")
    assert "mmap = true" not in "".join(found.fix)
