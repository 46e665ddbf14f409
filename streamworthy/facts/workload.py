"""What a token takes, and what the tier's machine gives it: the yardstick for a cause."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamworthy.facts.disk import ReadAheadFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRoofs:
    """What this machine gave without an engine; None: not measured in this run so far, or not plausible."""

    memory_bytes_per_second: float | None  # read only, the best pass
    disk_bytes_per_second: float | None  # in order, past the page cache, eight reads in flight


NOTHING_MEASURED = MeasuredRoofs(memory_bytes_per_second=None, disk_bytes_per_second=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """One model under one engine plan, on a machine that just meets the tier."""

    file_bytes: int
    available_bytes: int  # for page cache and engine together, before the engine's start
    bytes_per_token: int  # dense weights and the experts used, all of them cold
    slab_bytes: int | None  # the largest expert of one tensor; None: a dense model
    threads_count: int  # that the engine computes with
    performance_cores_count: int | None  # None: the cores are of one kind, or not told apart
    read_ahead: ReadAheadFacts | None  # of the devices that hold the shards; None: not known
    fault_bytes_per_second: float  # the tier's disk as page faults on slabs use it
    memory_bytes_per_second: float  # the tier's, read only
    measured: MeasuredRoofs

    @property
    def ceiling_tokens_per_second(self) -> float:
        """What the tier's memory gives when every byte of a token is read from it once."""
        return self.memory_bytes_per_second / self.bytes_per_token
