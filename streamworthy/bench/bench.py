"""What the hardware gives without an engine: the roofs that every rate is measured against."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from streamworthy.bench.memory import PASSES, measure_bandwidth
from streamworthy.facts.workload import MeasuredRoofs

if TYPE_CHECKING:
    from streamworthy.bench.disk import Disk
    from streamworthy.facts.bandwidth import BandwidthFacts
    from streamworthy.facts.disk import SequentialReads
    from streamworthy.gguf.subject import Subject
    from streamworthy.probes.machine import Machine


class Bench:
    """The disks in ``disk`` and the memory in ``bandwidth``; measured when first asked for, and once.

    ``threads`` is as many as the engine computes with; ``available_bytes`` the memory that may be used.
    """

    def __init__(  # noqa: PLR0913 - what is measured, and within which bounds
        self, machine: Machine, subject: Subject, disk: Disk, *, threads: int, depth: str, available_bytes: int
    ) -> None:
        """Take what is asked about; nothing is measured yet."""
        self.disk = disk
        self._machine = machine
        self._subject = subject
        self._threads = threads
        self._depth = depth
        self._available_bytes = available_bytes

    @property
    def measured(self) -> MeasuredRoofs:
        """What was measured so far; nothing is measured for it."""
        bandwidth: BandwidthFacts | None = vars(self).get("bandwidth")
        sequential: SequentialReads | None = vars(self.disk).get("sequential")
        eight = None if sequential is None or sequential.state.doubts else sequential.eight
        return MeasuredRoofs(
            memory_bytes_per_second=bandwidth.best_bytes_per_second if bandwidth else None,
            disk_bytes_per_second=eight.rate_bytes_per_second if eight else None,
        )

    @cached_property
    def bandwidth(self) -> BandwidthFacts:
        """Read-only bandwidth of memory. ProbeError when there is too little memory to measure it."""
        slabs = self._subject.sizes.slab_bytes
        return measure_bandwidth(
            self._machine.root,
            cores=self._threads,
            passes=PASSES[self._depth],
            available_bytes=self._available_bytes,
            slab_bytes=max(slabs, default=None),
        )
