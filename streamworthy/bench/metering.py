"""Rounds of reads with what the devices and this process read for them."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamworthy.bench.disturbers import device_read_bytes, process_read_bytes
from streamworthy.errors import ProbeError
from streamworthy.facts.disk import ReadRate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from streamworthy.bench.direct_reads import Done
    from streamworthy.probes.sysroot import Sysroot

_SETTLED_SECONDS = 0.03
_LONGEST_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Meter:
    """The counters of some devices and of this process."""

    root: Sysroot
    devices: tuple[str, ...]

    def read(self) -> tuple[int | None, int | None]:
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
        """Do the runs one after another; ``prepare`` comes before each and gives the resident share it leaves."""
        done, shares, counts = [], [], []
        for run in runs:
            if prepare is not None:
                shares.append(prepare())
            before = self.read()
            done.append(run())
            if prepare is not None:
                self.settle()
            counts.append((before, self.read()))
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


def _total(pairs: Sequence[tuple[int | None, int | None]]) -> int | None:
    total = 0
    for before, after in pairs:
        if before is None or after is None:
            return None
        total += after - before
    return total
