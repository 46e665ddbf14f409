"""How fast memory is read: nothing is written while the clock runs, as when tokens are decoded.

The kernel is an exclusive-or over 64-bit words: it is as fast as a loop in C, starts no threads of its own as a
product of vectors would, and releases the interpreter lock.
"""

from __future__ import annotations

import random
import threading
import time
from typing import TYPE_CHECKING, Any

from streamworthy.errors import ProbeError
from streamworthy.facts.bandwidth import BandwidthFacts, ThreadRates
from streamworthy.probes.numa import probe_last_level_cache, probe_numa
from streamworthy.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from streamworthy.probes.sysroot import Sysroot

CACHES = 4  # working set in last-level caches: of less, a part is read from the cache
_UNKNOWN_CACHE_BYTES = 64 * 2**20
_LEAST_BYTES = 128 * 2**20
_AVAILABLE_SHARE = 0.25
_PASS_SECONDS = 0.02  # the least that one timed pass takes
_KNEE_SHARE = 0.95
_SLAB_BYTES = 4 * 2**20
_LEAST_SLAB_BYTES = 2**20  # of smaller ones the interpreter takes longer than the memory
PASSES = {"quick": 9, "standard": 25, "full": 50}


def measure_bandwidth(
    root: Sysroot, *, cores: int, passes: int, available_bytes: int, slab_bytes: int | None
) -> BandwidthFacts:
    """Read memory with 1, 2, 4, ... ``cores`` threads, then slabs at random places with as many as it takes.

    ProbeError when a quarter of the available memory does not hold a working set beyond the caches.
    """
    cache = probe_last_level_cache(root)
    wanted = max(_LEAST_BYTES, CACHES * (_UNKNOWN_CACHE_BYTES if cache is None else cache))
    if wanted > available_bytes * _AVAILABLE_SHARE:
        raise ProbeError(
            f"memory bandwidth: found {format_bytes(available_bytes)} available, expected "
            f"{format_bytes(wanted / _AVAILABLE_SHARE)}: a working set of {format_bytes(wanted)} is read, "
            f"{CACHES} times the last-level caches",
            fix="end other programs",
        )
    words = _fill(wanted, cores)
    sweep = tuple(_rates(_in_order(words, count), count, wanted, passes) for count in thread_counts(cores))
    knee = knee_of(sweep)
    slab = min(max(slab_bytes or _SLAB_BYTES, _LEAST_SLAB_BYTES), wanted // (8 * knee))
    return BandwidthFacts(
        sweep=sweep,
        knee_threads_count=knee,
        scattered=_rates(_scattered(words, knee, slab), knee, wanted, passes),
        slab_bytes=slab,
        working_set_bytes=wanted,
        last_level_cache_bytes=cache,
        numa=probe_numa(root),
    )


def thread_counts(cores: int) -> tuple[int, ...]:
    """Give the powers of two up to the cores, and the cores: ``6`` -> 1, 2, 4, 6."""
    powers = [2**power for power in range(cores.bit_length()) if 2**power < cores]
    return (*powers, cores)


def knee_of(sweep: Sequence[ThreadRates]) -> int:
    """Give the fewest threads that are within 5 % of the best."""
    best = max(each.median_bytes_per_second for each in sweep)
    return next(each.threads_count for each in sweep if each.median_bytes_per_second >= _KNEE_SHARE * best)


def _fill(size: int, cores: int) -> Any:  # noqa: ANN401 - an array; numpy is imported where it is used
    import numpy as np

    words = np.empty(size // 8, dtype=np.uint64)
    _together([lambda part=part: part.fill(1) for part in np.array_split(words, cores)])  # type: ignore[misc]
    return words


def _in_order(words: Any, threads: int) -> list[list[Any]]:  # noqa: ANN401
    import numpy as np

    return [[part] for part in np.array_split(words, threads)]


def _scattered(words: Any, threads: int, slab_bytes: int) -> list[list[Any]]:  # noqa: ANN401
    """Deal slabs of the whole working set to threads in random order."""
    each = slab_bytes // 8
    slabs = [words[start : start + each] for start in range(0, len(words), each)]
    random.Random(1).shuffle(slabs)  # noqa: S311 - an order, no secret
    return [slabs[number::threads] for number in range(threads)]


def _rates(work: list[list[Any]], threads: int, size: int, passes: int) -> ThreadRates:
    import numpy as np

    def read(parts: list[Any], times: int) -> None:
        for _ in range(times):
            for part in parts:
                np.bitwise_xor.reduce(part)

    def timed(times: int) -> float:
        return _together([lambda parts=parts: read(parts, times) for parts in work])  # type: ignore[misc]

    once = timed(1)
    times = max(1, round(_PASS_SECONDS / once))
    rates = tuple(size * times / timed(times) for _ in range(passes))
    return ThreadRates(threads_count=threads, rates_bytes_per_second=rates)


def _together(jobs: Sequence[Callable[[], None]]) -> float:
    """Run jobs at the same time, each in a thread of its own; the seconds from the start of all to the last's end."""
    started, ended = list[float](), list[float]()
    # the clock starts before anyone is let go: the thread that waits may be woken late
    barrier = threading.Barrier(len(jobs), action=lambda: started.append(time.perf_counter()))

    def work(job: Callable[[], None]) -> None:
        barrier.wait()
        job()
        ended.append(time.perf_counter())

    threads = [threading.Thread(target=work, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return max(ended) - started[0]
