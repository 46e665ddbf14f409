"""How fast memory is read: nothing is written while the clock runs, as when tokens are decoded."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING, Any

from streamworthy.bench.passes import in_order, read_passes, together
from streamworthy.bench.placed import measure_placed
from streamworthy.errors import ProbeError
from streamworthy.facts.bandwidth import BandwidthFacts
from streamworthy.probes.numa import probe_last_level_cache, probe_numa
from streamworthy.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamworthy.facts.bandwidth import NumaFacts, PlacedRates, ThreadRates
    from streamworthy.probes.sysroot import Sysroot

CACHES = 4  # working set in last-level caches: of less, a part is read from the cache
_UNKNOWN_CACHE_BYTES = 64 * 2**20
_LEAST_BYTES = 128 * 2**20
_AVAILABLE_SHARE = 0.25
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
    sweep = tuple(read_passes(in_order(words, count), size=wanted, passes=passes) for count in thread_counts(cores))
    knee = knee_of(sweep)
    slab = min(max(slab_bytes or _SLAB_BYTES, _LEAST_SLAB_BYTES), wanted // (8 * knee))
    scattered = read_passes(_scattered(words, knee, slab), size=wanted, passes=passes)
    del words  # what follows needs as much again
    numa = probe_numa(root)
    placed, unplaced = _placed(numa, wanted, passes)
    return BandwidthFacts(
        sweep=sweep,
        knee_threads_count=knee,
        scattered=scattered,
        slab_bytes=slab,
        working_set_bytes=wanted,
        last_level_cache_bytes=cache,
        numa=numa,
        placed=placed,
        unplaced=unplaced,
    )


def _placed(numa: NumaFacts, size: int, passes: int) -> tuple[PlacedRates | None, str]:
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ()
    try:
        return measure_placed(numa, allowed=allowed, size=size, passes=passes), ""
    except ProbeError as error:
        return None, error.message


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
    together([lambda part=part: part.fill(1) for part in np.array_split(words, cores)])  # type: ignore[misc]
    return words


def _scattered(words: Any, threads: int, slab_bytes: int) -> list[list[Any]]:  # noqa: ANN401
    """Deal slabs of the whole working set to threads in random order."""
    each = slab_bytes // 8
    slabs = [words[start : start + each] for start in range(0, len(words), each)]
    random.Random(1).shuffle(slabs)  # noqa: S311 - an order, no secret
    return [slabs[number::threads] for number in range(threads)]
