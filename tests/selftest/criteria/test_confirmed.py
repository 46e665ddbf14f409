"""A cause is confirmed by what a change does, and only by that."""

from __future__ import annotations

import pytest

from streamworthy.criteria.bottleneck import Bottleneck
from streamworthy.criteria.confirmed import confirm, remedies
from streamworthy.facts.cause import Cause
from streamworthy.facts.intervention import Change, Intervention


def made(change, rate, read=None, refused=""):
    """Give a change with three equal rounds."""
    return Intervention(
        change=change,
        rate_ratios=() if refused else (rate,) * 3,
        read_ratios=() if read is None else (read,) * 3,
        refused=refused,
    )


def suspected(word):
    """Suspect a cause."""
    return Bottleneck(word=word, reason="seen", fix=("mend it",))


@pytest.mark.parametrize(
    ("word", "effect", "confirmed"),
    [
        (Cause.READ_AHEAD, made(Change.NO_READ_AHEAD, 0.9, 0.05), True),
        (Cause.READ_AHEAD, made(Change.NO_READ_AHEAD, 3.0, 0.9), False),
        (Cause.READ_AHEAD, made(Change.NO_READ_AHEAD, 3.0), False),  # nothing was read
        (Cause.MEMORY_CAPACITY, made(Change.LESS_MEMORY, 0.7, 1.4), True),
        (Cause.MEMORY_CAPACITY, made(Change.LESS_MEMORY, 0.7, 1.0), False),
        (Cause.MEMORY_CAPACITY, made(Change.SAME_TEXT, 4.0, 0.1), True),
        (Cause.DISK, made(Change.SAME_TEXT, 4.0, 0.1), True),
        (Cause.DISK, made(Change.READER, 0.5, 1.0), True),
        (Cause.DISK, made(Change.READER, 1.0, 1.0), False),
        (Cause.COMPUTE, made(Change.HALF_THREADS, 0.55), True),
        (Cause.COMPUTE, made(Change.HALF_THREADS, 0.95), False),
        (Cause.MEMORY_BANDWIDTH, made(Change.HALF_THREADS, 0.95), True),
        (Cause.MEMORY_BANDWIDTH, made(Change.HALF_THREADS, 0.55), False),
    ],
)
def test_an_effect_confirms_or_does_not(word, effect, confirmed):
    """Either way it is told what was done."""
    found = confirm(suspected(word), (made(Change.READER, 1.0, 1.0), effect) if word is not Cause.DISK else (effect,))
    assert found.confirmed is confirmed
    assert str(effect.change) in found.reason
    assert found.told.startswith(f"{word} ({'confirmed' if confirmed else 'suspected'}): seen; ")
    assert ("does not bear it out" in found.reason) is not confirmed


def test_a_change_that_could_not_be_made_leaves_the_suspicion():
    """Nothing is said of it."""
    effect = made(Change.HALF_THREADS, 1.0, refused="the engine has one thread")
    assert confirm(suspected(Cause.COMPUTE), (effect,)) == suspected(Cause.COMPUTE)
    assert confirm(suspected(Cause.SWAP), ()) == suspected(Cause.SWAP)


def test_what_made_it_faster_is_a_remedy():
    """Half the threads, or the dense tensors held; not what was slower, or made no difference, or was refused."""
    faster, same = made(Change.HALF_THREADS, 1.3), made(Change.HELD, 1.1)
    (line,) = remedies((faster, same, made(Change.SAME_TEXT, 4.0)), threads=8)
    assert line.startswith("in [engine]: threads = 4 ")
    (line,) = remedies((made(Change.HALF_THREADS, 0.6), made(Change.HELD, 1.4)), threads=8)
    assert line.startswith("streamworthy cache hold --dense MODEL ")
    assert remedies((made(Change.HELD, 0.0, refused="no room"),), threads=8) == ()
