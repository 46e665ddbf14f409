"""The kernel's files behind a reading, kept open: a reading costs some 100 us, opening them anew 250."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from streamworthy.bench.cpu_load import allowed_cores, parse_process_stat, take_cpu_snapshot
from streamworthy.bench.disturbers import parse_read_bytes
from streamworthy.bench.readings import (
    Census,
    DiskStat,
    EngineUse,
    Reading,
    parse_anonymous,
    parse_disk_stat,
    parse_paging,
    parse_stalled,
)
from streamworthy.errors import ProbeError
from streamworthy.probes.clock import Clocks, count_throttling
from streamworthy.probes.temperature import find_cpu_sensors, find_sensors, hottest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from streamworthy.probes.sysroot import KeptFile, Sysroot

_NOT_BEGUN = EngineUse(read_bytes=0, ticks=0, major_faults=0)

Value = TypeVar("Value")


class Sources:
    """What readings are taken from. What cannot be read is None in them; nothing is raised.

    ``devices`` are leaf block devices; ``threads`` is how many the engine computes with.
    """

    def __init__(self, root: Sysroot, devices: Sequence[str], *, threads: int) -> None:
        """Open what is there before the engine is."""
        self._root = root
        self._threads = threads
        self._pid: int | None = None
        self._stalled = {name: root.keep(f"proc/pressure/{name}") for name in ("io", "memory", "cpu")}
        self._disks = {name: root.keep(f"sys/class/block/{name.replace('/', '!')}/stat") for name in devices}
        self._paging = root.keep("proc/vmstat")
        self._engine: dict[str, KeptFile] = {}
        self._clocks = Clocks(root)
        self._drives = _keep_sensors(root, [folder for name in devices for folder in find_sensors(root, name)])
        self._processors = _keep_sensors(root, find_cpu_sensors(root))

    def watch(self, pid: int) -> None:
        """Count what a process uses, from the next reading on; those before say that it used nothing."""
        for file in self._engine.values():
            file.close()
        self._engine = {name: self._root.keep(f"proc/{pid}/{name}") for name in ("io", "stat")}
        self._pid = pid

    def close(self) -> None:
        """Close all files: what is read from now on is None."""
        self._clocks.close()
        kept = (self._stalled, self._disks, self._engine)
        files = [file for each in kept for file in each.values()]
        for file in [*files, self._paging, *self._drives, *self._processors]:
            file.close()

    def read(self, *, clocks: bool, heat: bool, census: Census | None) -> Reading:
        """Take a reading; ``census`` is what was counted for it."""
        stalled = {name: parse_stalled(file.read() or "") for name, file in self._stalled.items()}
        refaulted, swapped_in = parse_paging(self._paging.read() or "")
        return Reading(
            moment_seconds=time.monotonic(),
            io_some_seconds=stalled["io"].get("some"),
            io_full_seconds=stalled["io"].get("full"),
            memory_full_seconds=stalled["memory"].get("full"),
            cpu_some_seconds=stalled["cpu"].get("some"),
            disks=self._read_disks(),
            engine=self._read_engine(),
            refaulted_pages=refaulted,
            swapped_in_pages=swapped_in,
            clock_share=self._clocks.share(self._threads) if clocks else None,
            device_celsius=hottest(self._drives) if heat else None,
            cpu_celsius=hottest(self._processors) if heat else None,
            census=census,
        )

    def _read_disks(self) -> dict[str, DiskStat] | None:
        found = {name: _told(file, parse_disk_stat) for name, file in self._disks.items()}
        known = {name: stat for name, stat in found.items() if stat is not None}
        return known if known and len(known) == len(found) else None

    def _read_engine(self) -> EngineUse:
        if self._pid is None:
            return _NOT_BEGUN
        used = _told(self._engine["stat"], parse_process_stat)
        return EngineUse(
            read_bytes=_told(self._engine["io"], lambda text: parse_read_bytes(text, where="/proc/PID/io")),
            ticks=used.ticks if used else None,
            major_faults=used.major_faults if used else None,
        )

    def count(self) -> Census:
        """Take the dear part of a reading: milliseconds, where there are many processes."""
        status = None
        with suppress(ProbeError):
            status = self._root.read_optional(f"proc/{self._pid}/status")
        anonymous, swapped = parse_anonymous(status or "")
        return Census(
            pid=self._pid,
            anonymous_bytes=anonymous,
            swapped_bytes=swapped,
            throttle_count=count_throttling(self._root),
            allowed_cores=allowed_cores(self._root, self._pid),
            cpu=take_cpu_snapshot(self._root, self._pid),
        )


def _keep_sensors(root: Sysroot, folders: Sequence[str]) -> list[KeptFile]:
    return [root.keep(f"{folder}/temp1_input") for folder in folders]


def _told(file: KeptFile, parse: Callable[[str], Value]) -> Value | None:
    text = file.read()
    if text is not None:
        with suppress(ProbeError):
            return parse(text)
    return None
