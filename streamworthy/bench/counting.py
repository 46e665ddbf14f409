"""From readings to what happened between the first and the last of them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

from streamworthy.bench.cpu_load import cpu_load_between, kswapd_cores_between
from streamworthy.facts.counters import Counters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from streamworthy.bench.readings import DiskStat, Reading
    from streamworthy.facts.cpu_load import CpuLoad

    Number = TypeVar("Number", int, float)

_WRAP = 2**32  # of milliseconds in 32 bits


def counters_between(readings: Sequence[Reading], *, threads: int) -> Counters:
    """Tell what happened from the first to the last reading; ``threads`` is how many the engine computes with.

    What is not told at both ends is None; the extremes are those of all readings.
    """
    first, last = readings[0], readings[-1]
    seconds = max(last.moment_seconds - first.moment_seconds, 1e-9)

    def share(value: Callable[[Reading], float | None]) -> float | None:
        waited = _difference(value(first), value(last))
        return None if waited is None else waited / seconds

    ticks = _difference(first.engine.ticks, last.engine.ticks)
    census = last.census
    return Counters(
        seconds=seconds,
        ticks_count=len(readings),
        io_some_share=share(lambda reading: reading.io_some_seconds),
        io_full_share=share(lambda reading: reading.io_full_seconds),
        memory_full_share=share(lambda reading: reading.memory_full_seconds),
        cpu_some_share=share(lambda reading: reading.cpu_some_seconds),
        device_bytes=_device_bytes(first, last),
        device_busy_share=max(_device_shares(first, last, lambda disk: disk.busy_milliseconds), default=None),
        device_queue_depth=_total(_device_shares(first, last, lambda disk: disk.queue_milliseconds)),
        engine_bytes=_difference(first.engine.read_bytes, last.engine.read_bytes),
        engine_cores=None if ticks is None else ticks / os.sysconf("SC_CLK_TCK") / seconds,
        major_faults=_difference(first.engine.major_faults, last.engine.major_faults),
        anonymous_bytes=census.anonymous_bytes if census else None,
        swapped_bytes=census.swapped_bytes if census else None,
        refaulted_bytes=_bytes(first.refaulted_pages, last.refaulted_pages),
        swapped_in_bytes=_bytes(first.swapped_in_pages, last.swapped_in_pages),
        kswapd_cores=_kswapd_cores(first, last),
        device_celsius=_most(reading.device_celsius for reading in readings),
        cpu_celsius=_most(reading.cpu_celsius for reading in readings),
        clock_share=_least(reading.clock_share for reading in readings),
        throttle_count=_throttled(first, last),
        cpu=_cpu_load(first, last, threads),
    )


def _difference(before: Number | None, after: Number | None) -> Number | None:
    return None if before is None or after is None else after - before


def _bytes(before: int | None, after: int | None) -> int | None:
    pages = _difference(before, after)
    return None if pages is None else pages * os.sysconf("SC_PAGE_SIZE")


def _device_bytes(first: Reading, last: Reading) -> int | None:
    if first.disks is None or last.disks is None:
        return None
    return sum(disk.read_bytes - first.disks[name].read_bytes for name, disk in last.disks.items())


def _device_shares(first: Reading, last: Reading, value: Callable[[DiskStat], int]) -> list[float]:
    """Give a time's share of the elapsed time for each device; none where they are not known."""
    if first.disks is None or last.disks is None:
        return []
    elapsed = max(last.moment_seconds - first.moment_seconds, 1e-9) * 1000
    return [(value(disk) - value(first.disks[name])) % _WRAP / elapsed for name, disk in last.disks.items()]


def _total(values: Sequence[float]) -> float | None:
    return sum(values) if values else None


def _most(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _least(values: Iterable[float | None]) -> float | None:
    return min((value for value in values if value is not None), default=None)


def _kswapd_cores(first: Reading, last: Reading) -> float | None:
    if first.census is None or last.census is None:
        return None
    return kswapd_cores_between(first.census.cpu, last.census.cpu)


def _throttled(first: Reading, last: Reading) -> int | None:
    if first.census is None or last.census is None:
        return None
    return _difference(first.census.throttle_count, last.census.throttle_count)


def _cpu_load(first: Reading, last: Reading, threads: int) -> CpuLoad | None:
    if first.census is None or last.census is None:
        return None
    return cpu_load_between(
        first.census.cpu,
        last.census.cpu,
        pid=last.census.pid,
        own=(),
        threads=threads,
        allowed=last.census.allowed_cores,
    )
