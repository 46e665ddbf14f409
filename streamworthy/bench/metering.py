"""Rounds of reads with what the devices and this process read for them."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from streamworthy.bench.disturbers import device_read_bytes, process_read_bytes
from streamworthy.errors import ProbeError
from streamworthy.facts.disk import ReadRate, others_read

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from streamworthy.bench.direct_reads import Done
    from streamworthy.probes.sysroot import Sysroot

    _Counts = tuple[int | None, int | None]  # of the devices, of this process

Read = TypeVar("Read")
_SETTLED_SECONDS = 0.03
_LONGEST_SECONDS = 1.0
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Meter:
    """The counters of some devices and of this process."""

    root: Sysroot
    devices: tuple[str, ...]

    def read(self) -> _Counts:
        """Give what the devices and what this process have read so far, in bytes; None for what is not told."""
        try:
            own = process_read_bytes(self.root, os.getpid())
        except ProbeError:  # a kernel without CONFIG_TASK_IO_ACCOUNTING
            own = None
        return device_read_bytes(self.root, self.devices), own

    def settle(self) -> None:
        """Wait until reads that the kernel began ahead have ended, which only then are counted."""
        end, last, since = time.monotonic() + _LONGEST_SECONDS, self.read()[0], time.monotonic()
        while time.monotonic() < end and time.monotonic() - since < _SETTLED_SECONDS:
            time.sleep(_SETTLED_SECONDS / 6)
            now = self.read()[0]
            if now != last:
                last, since = now, time.monotonic()

    def rounds(
        self,
        runs: Sequence[Callable[[], Done]],
        *,
        path: str,
        block_bytes: int,
        lanes: int,
        prepare: Callable[[], float] | None = None,
    ) -> ReadRate:
        """Do the runs one after another; ``prepare`` comes before each and gives the resident share it leaves.

        A prepared run beside which somebody else read is done again, twice at most: its device bytes are the point.
        """
        done: list[Done] = []
        counts: list[tuple[_Counts, _Counts]] = []
        shares = []
        for run in runs:
            for _ in range(1 if prepare is None else _ATTEMPTS):
                shares += [] if prepare is None else [prepare()]
                found, count = self._count(run, settle=prepare is not None)
                if not others_read(*(_total([pair]) for pair in zip(*count, strict=True))):
                    break
            done.append(found)
            counts.append(count)
        return ReadRate(
            path=path,
            block_bytes=block_bytes,
            lanes_count=lanes,
            rates_bytes_per_second=tuple(each.rate_bytes_per_second for each in done),
            seconds=sum(each.seconds for each in done),
            useful_bytes=sum(each.useful_bytes for each in done),
            device_bytes=_total([(before[0], after[0]) for before, after in counts]),
            own_bytes=_total([(before[1], after[1]) for before, after in counts]),
            resident_share=max(shares, default=None),
        )

    def counted(self, run: Callable[[], Read]) -> tuple[Read, int | None, int | None]:
        """Do something; give what it gave, the bytes that devices read meanwhile, and those for this process."""
        found, (before, after) = self._count(run)
        return found, _total([(before[0], after[0])]), _total([(before[1], after[1])])

    def _count(self, run: Callable[[], Read], *, settle: bool = False) -> tuple[Read, tuple[_Counts, _Counts]]:
        before = self.read()
        done = run()
        if settle:
            self.settle()
        return done, (before, self.read())


def _total(pairs: Sequence[tuple[int | None, int | None]]) -> int | None:
    total = 0
    for before, after in pairs:
        if before is None or after is None:
            return None
        total += after - before
    return total
