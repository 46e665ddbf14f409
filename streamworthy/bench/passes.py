"""Timed passes over an array that write nothing: every word is read once a pass, by threads that start together.

The kernel is an exclusive-or over 64-bit words: it is as fast as a loop in C, starts no threads of its own as a
product of vectors would, and releases the interpreter lock.
"""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Any

from streamworthy.facts.bandwidth import ThreadRates

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

_PASS_SECONDS = 0.02  # the least that one timed pass takes


def in_order(words: Any, threads: int) -> list[list[Any]]:  # noqa: ANN401 - an array; numpy is imported where it is used
    """Give each thread one stretch of the array."""
    import numpy as np

    return [[part] for part in np.array_split(words, threads)]


def read_passes(work: list[list[Any]], *, size: int, passes: int, cpus: Collection[int] | None = None) -> ThreadRates:
    """Read the parts of each thread, ``size`` bytes in all, so many times over; on the given CPUs only, if any."""
    import numpy as np

    def read(parts: list[Any], times: int) -> None:
        for _ in range(times):
            for part in parts:
                np.bitwise_xor.reduce(part)

    def timed(times: int) -> float:
        return together([lambda parts=parts: read(parts, times) for parts in work], cpus)  # type: ignore[misc]

    once = timed(1)
    times = max(1, round(_PASS_SECONDS / once))
    rates = tuple(size * times / timed(times) for _ in range(passes))
    return ThreadRates(threads_count=len(work), rates_bytes_per_second=rates)


def together(jobs: Sequence[Callable[[], None]], cpus: Collection[int] | None = None) -> float:
    """Run jobs at the same time, each in a thread of its own; the seconds from the start of all to the last's end."""
    started, ended = list[float](), list[float]()
    # the clock starts before anyone is let go: the thread that waits may be woken late
    barrier = threading.Barrier(len(jobs), action=lambda: started.append(time.perf_counter()))

    def work(job: Callable[[], None]) -> None:
        if cpus is not None:
            os.sched_setaffinity(0, cpus)  # of this thread alone
        barrier.wait()
        job()
        ended.append(time.perf_counter())

    threads = [threading.Thread(target=work, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return max(ended) - started[0]
