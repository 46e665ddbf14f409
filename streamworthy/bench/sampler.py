"""Readings of machine and engine while something is timed: five times a second, and whole ones at its ends.

A tick costs some 100 us, which is 0.05 % of one core. A drive is asked for its temperature once a second: SATA drives
hold their queue for it (drivers/hwmon/drivetemp.c), NVMe drivers answer from what they kept (hwmon.c).
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

from streamworthy.bench.counting import counters_between
from streamworthy.bench.sources import Sources
from streamworthy.closing import Closing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamworthy.bench.readings import Reading
    from streamworthy.facts.counters import Counters
    from streamworthy.probes.sysroot import Sysroot

TICK_SECONDS = 0.2
_HEAT_TICKS = 5
_END_SECONDS = 5.0
_KEPT_COUNT = 36_000  # two hours: of a longer stretch only the extremes of its last two hours are known


class Sampler(Closing):
    """A thread that takes readings. Use as a context manager, or call close: it has ended and its files are closed."""

    def __init__(
        self, root: Sysroot, devices: Sequence[str], *, threads: int, tick_seconds: float = TICK_SECONDS
    ) -> None:
        """Begin; ``devices`` are leaf block devices, ``threads`` is how many the engine computes with."""
        self._threads = threads
        self._tick_seconds = tick_seconds
        self._sources = Sources(root, devices, threads=threads)
        self._ticks: deque[Reading] = deque(maxlen=_KEPT_COUNT)
        self._lock = threading.Lock()  # the files are exchanged and closed beside the thread that reads them
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread and close the files; a second time does nothing."""
        self._ended.set()
        self._thread.join(_END_SECONDS)
        if not self._thread.is_alive():  # it may wait for a drive that does not answer
            self._sources.close()

    def watch(self, pid: int) -> None:
        """Take this process as the engine from now on."""
        with self._lock:
            self._sources.watch(pid)

    def mark(self, *, last: bool = False) -> Reading:
        """Take a whole reading now, before something begins or, with ``last``, after it has ended.

        Its counters are read as near to that something as can be, and what is dear on the far side of them.
        """
        with self._lock:
            census = None if last else self._sources.count()
            reading = self._sources.read(clocks=False, heat=True, census=census)
            return replace(reading, census=self._sources.count()) if last else reading

    def between(self, first: Reading, last: Reading) -> Counters:
        """Tell what happened between two marks."""
        with self._lock:
            ticks = [tick for tick in self._ticks if first.moment_seconds < tick.moment_seconds < last.moment_seconds]
        return counters_between((first, *ticks, last), threads=self._threads)

    def _run(self) -> None:
        count = 0
        while not self._ended.is_set():
            with self._lock:
                self._ticks.append(self._sources.read(clocks=True, heat=count % _HEAT_TICKS == 0, census=None))
            count += 1
            self._ended.wait(self._tick_seconds)
