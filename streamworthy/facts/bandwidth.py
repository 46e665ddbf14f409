"""How fast memory is read, with nothing written."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadRates:
    """All passes with one number of threads."""

    threads_count: int
    rates_bytes_per_second: tuple[float, ...]

    @property
    def median_bytes_per_second(self) -> float:
        """The median pass."""
        return median(self.rates_bytes_per_second)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryNode:
    """One node that has memory."""

    number: int
    cpus: tuple[int, ...]  # empty: memory without cores, such as CXL


@dataclass(frozen=True, slots=True, kw_only=True)
class NumaFacts:
    """What the kernel does about memory that is nearer to one socket."""

    nodes: tuple[MemoryNode, ...] | None  # None on kernels without NUMA in sysfs
    zone_reclaim_mode: int | None  # None on kernels without NUMA
    numa_balancing: int | None  # None on kernels without it


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedRates:
    """The cores of one node that read its own memory, and memory that alternates between all nodes."""

    node: int
    local: ThreadRates
    interleaved: ThreadRates


@dataclass(frozen=True, slots=True, kw_only=True)
class BandwidthFacts:
    """Read-only bandwidth of memory: in order by thread count, and slabs at random places."""

    sweep: tuple[ThreadRates, ...]  # by threads, ascending
    knee_threads_count: int  # the fewest threads within 5 % of the best
    scattered: ThreadRates  # slabs at random places, at the knee
    slab_bytes: int
    working_set_bytes: int
    last_level_cache_bytes: int | None  # all instances; None where sysfs does not tell
    numa: NumaFacts
    placed: PlacedRates | None  # None: ``unplaced`` says why
    unplaced: str

    @property
    def at_knee(self) -> ThreadRates:
        """The rates at the knee."""
        return next(each for each in self.sweep if each.threads_count == self.knee_threads_count)

    @property
    def best_bytes_per_second(self) -> float:
        """The best pass with any number of threads: the roof."""
        return max(rate for threads in self.sweep for rate in threads.rates_bytes_per_second)

    @property
    def steady_share(self) -> float:
        """Median over best pass at the knee: 1 is a machine that nothing disturbs."""
        return self.at_knee.median_bytes_per_second / max(self.at_knee.rates_bytes_per_second)
