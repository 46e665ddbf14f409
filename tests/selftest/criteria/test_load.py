"""How the weights come in."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest

from streamworthy.criteria.load import mapped_share, mmap, question
from streamworthy.verdict import Word
from tests.selftest.criteria.asked import limit
from tests.selftest.engine.records import FAILURE, MAPPING, MIB, STATE, make_series

_SPEED = 200 * MIB / 2.0  # of the sound series: 200 MiB in 2 s
_SOUND = make_series(2.0, 2.0, 2.0, 2.0, 2.0)


@pytest.mark.parametrize(("at_most", "word"), [(1.99, Word.FAIL), (2.0, Word.PASS), (2.01, Word.PASS)])
def test_seconds_at_most(at_most, word):
    """The limit is inclusive."""
    found = mmap(_SOUND, limit("load.mmap", at_most=at_most))

    assert (found.word, found.value, found.unit) == (word, 2.0, "seconds")
    assert bool(found.cause) is (word is Word.FAIL)


@pytest.mark.parametrize(("at_least", "word"), [(_SPEED + 1, Word.FAIL), (_SPEED, Word.PASS), (_SPEED - 1, Word.PASS)])
def test_bytes_per_second_at_least(at_least, word):
    """The files' bytes over the time."""
    assert mmap(_SOUND, limit("load.mmap", at_least=at_least)).word is word


def test_both_bounds_are_shown_and_both_count():
    """One miss is enough."""
    found = mmap(_SOUND, limit("load.mmap", at_most=10.0, at_least=1e12))

    assert found.word is Word.FAIL
    assert found.measured == "2.0 s, 104.9 MB/s"
    assert found.required == "at most 10.0 s, at least 1.0 TB/s"


@pytest.mark.parametrize(
    ("bounds", "seconds"),
    [({"at_most": 1.5, "at_least": _SPEED}, 1.5), ({"at_most": 2.5, "at_least": _SPEED}, 2.0), ({"at_least": 0}, inf)],
)
def test_both_bounds_are_one_time(bounds, seconds):
    """The shorter of both; no speed at all is met by any time."""
    assert question(_SOUND, limit("load.mmap", **bounds)).bound == seconds


def test_a_tier_without_a_bound_is_an_error():
    """Unknown is not safe."""
    found = mmap(_SOUND, limit("load.mmap"))

    assert (found.word, found.cause) == (Word.ERROR, "load.mmap: the tier gives neither at_most nor at_least")


def test_an_engine_that_failed_is_an_error():
    """No load, no time."""
    assert mmap(make_series(failure=FAILURE), limit("load.mmap", at_most=1.0)).word is Word.ERROR


def share(mapping, at_least=0.98, anonymous_at_most=1.3):
    """Judge a mapping."""
    return mapped_share(mapping, limit("load.mapped_share", at_least=at_least, anonymous_at_most=anonymous_at_most))


@pytest.mark.parametrize(("mapped", "word"), [(97, Word.FAIL), (98, Word.PASS), (99, Word.PASS)])
def test_mapped_at_least(mapped, word):
    """98 of 100 MiB are enough."""
    found = share(replace(MAPPING, engine=replace(STATE, mapped_bytes=mapped * MIB), tensor_bytes=100 * MIB))

    assert (found.word, found.value) == (word, mapped / 100)


@pytest.mark.parametrize(("anonymous", "word"), [(79, Word.FAIL), (78, Word.PASS), (77, Word.PASS)])
def test_anonymous_at_most(anonymous, word):
    """KV, compute and engine are 60 MiB here; 1.3 times that are 78."""
    found = share(replace(MAPPING, engine=replace(STATE, rss_anon_bytes=anonymous * MIB)))

    assert found.word is word
    assert bool(found.cause) is (word is Word.FAIL)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"repack_bytes": 200 * MIB, "rss_anon_bytes": 260 * MIB}, "repacked 200.0 MiB of weights into anonymous"),
        ({"mapped_bytes": 0, "load_mode": "none"}, "not mapped from the files (load mode none)"),
        ({"rss_anon_bytes": 260 * MIB}, "more anonymous memory than KV cache"),
    ],
)
def test_the_cause_is_named(changes, words):
    """Repack, no mmap, or an unexplained copy."""
    assert words in share(replace(MAPPING, engine=replace(STATE, **changes))).cause


_MARKED = replace(STATE, random_bytes=200 * MIB)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"engine": _MARKED, "available_bytes": 199 * MIB}, Word.FAIL),
        ({"engine": _MARKED, "available_bytes": 200 * MIB}, Word.PASS),
        ({"numa_asked": "distribute"}, Word.PASS),
        ({"engine": replace(STATE, random_bytes=None)}, Word.PASS),
        ({"engine": replace(STATE, random_bytes=None), "numa_asked": "isolate"}, Word.ERROR),
    ],
)
def test_streamed_weights_are_not_read_page_by_page(changes, word):
    """What the maps say decides, not the wish: with one memory node a NUMA mode marks nothing."""
    assert share(replace(MAPPING, **changes)).word is word


@pytest.mark.parametrize(
    ("said", "fix"),
    [("", "set mmap = true"), ("mmap is not supported on this platform", "build the engine on this machine")],
)
def test_an_engine_that_does_not_map_is_told_from_one_that_cannot(said, fix):
    """The effective mode decides, with or without a warning in the log."""
    found = share(replace(MAPPING, engine=replace(STATE, mapped_bytes=0, load_mode="none", unmapped=said)))

    assert (found.word, said in found.cause) == (Word.FAIL, True)
    assert found.fix[0].startswith(fix)


@pytest.mark.parametrize("said", ["direct I/O is enabled, disabling mmap", "direct_io = true", "load_mode = dio"])
def test_direct_io_is_named_with_its_own_remedy(said):
    """Builds around January 2026 turned it on by themselves, which reads the whole model into memory."""
    engine = replace(STATE, mapped_bytes=0, load_mode="none", unmapped=said)
    found = share(replace(MAPPING, engine=engine))

    assert found.word is Word.FAIL
    assert f"not mapped from the files ({said})" in found.cause
    assert found.fix[0].startswith("start the engine without direct I/O")


@pytest.mark.parametrize(
    ("asked", "who"), [("distribute", "the engine's numa = distribute"), ("disabled", "a NUMA mode of the engine")]
)
def test_a_numa_mode_is_named_with_what_to_set(asked, who):
    """The remedy is the mode's, not that of copied weights."""
    found = share(replace(MAPPING, engine=_MARKED, numa_asked=asked))

    assert found.cause.startswith(f"{who} marks the mapped weights for random access (MADV_RANDOM)")
    assert found.fix[0].startswith('set numa = "disabled"')
    assert "random_access=200.0 MiB" in found.evidence


@pytest.mark.parametrize("changes", [{"repack_asked": True}, {"mmap_asked": False}])
def test_tiers_that_copy_on_purpose_are_not_asked(changes):
    """The reason says which wish it was."""
    assert share(replace(MAPPING, **changes)).word is Word.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"engine": None, "failure": FAILURE}, Word.ERROR),
        ({"engine": None, "refused": "cp (pid 9)"}, Word.INCONCLUSIVE),
        ({"engine": replace(STATE, kv_bytes=None)}, Word.ERROR),
        ({"engine": replace(STATE, compute_bytes=None)}, Word.ERROR),
    ],
)
def test_what_is_not_known_is_not_judged(changes, word):
    """No state, or a log without sizes."""
    assert share(replace(MAPPING, **changes)).word is word
