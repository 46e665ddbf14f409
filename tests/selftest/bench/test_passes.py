"""Passes over an array by threads that start together."""

from __future__ import annotations

import os

import numpy as np

from streamworthy.bench.passes import in_order, read_passes, together


def test_each_thread_has_a_stretch():
    """All words, in order."""
    work = in_order(np.arange(10, dtype=np.uint64), 3)
    assert [list(part) for (part,) in work] == [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9]]


def test_a_rate_for_each_pass():
    """As many as asked, for as many threads as there is work for."""
    words = np.ones(2**20, dtype=np.uint64)
    found = read_passes(in_order(words, 2), size=words.nbytes, passes=4)
    assert (found.threads_count, len(found.rates_bytes_per_second)) == (2, 4)
    assert all(rate > 1e7 for rate in found.rates_bytes_per_second)


def test_threads_stay_on_the_cores_they_are_given():
    """The caller's own affinity stays as it was."""
    before, seen = os.sched_getaffinity(0), []
    together([lambda: seen.append(os.sched_getaffinity(0))] * 2, [min(before)])
    assert seen == [{min(before)}] * 2
    assert os.sched_getaffinity(0) == before
