"""The state of the machine around an episode: pressure, temperature, and what the device read for anyone.

Sources: /proc/pressure (Documentation/accounting/psi.rst, since Linux 4.20), hwmon below /sys/block (since 5.5 for
NVMe), /proc/diskstats.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamworthy.bench.cpu_load import CpuSnapshot, cpu_load_since, take_cpu_snapshot
from streamworthy.bench.disturbers import device_read_bytes, process_read_bytes
from streamworthy.errors import ProbeError
from streamworthy.facts.episode import Conditions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamworthy.facts.episode import Disturbers
    from streamworthy.probes.sysroot import Sysroot

_FULL = re.compile(r"^full .*total=(\d+)$", re.MULTILINE)  # microseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Counters at one moment."""

    moment_seconds: float
    io_full_seconds: float | None  # None on kernels without PSI
    memory_full_seconds: float | None
    device_bytes: int | None  # None: devices not known
    engine_bytes: int  # by the process given
    cpu: CpuSnapshot | None  # None: the kernel keeps its times to itself


def take_snapshot(root: Sysroot, devices: Sequence[str], pid: int | None = None) -> Snapshot:
    """Read the counters; without a process its bytes are 0, as those of one that is about to start."""
    return Snapshot(
        moment_seconds=time.monotonic(),
        io_full_seconds=_full_seconds(root, "io"),
        memory_full_seconds=_full_seconds(root, "memory"),
        device_bytes=device_read_bytes(root, devices),
        engine_bytes=0 if pid is None else process_read_bytes(root, pid),
        cpu=take_cpu_snapshot(root, pid),
    )


def conditions_since(  # noqa: PLR0913 - where, since when, and what is known of the engine and of others
    before: Snapshot, root: Sysroot, devices: Sequence[str], *, pid: int, others: Disturbers | None, threads: int
) -> Conditions:
    """Tell what happened since a snapshot; the temperature is that of now.

    ``others``: None when nobody looked. ``threads``: with how many the engine computes.
    """
    cpu = cpu_load_since(before.cpu, root, pid=pid, own=(), threads=threads)
    after = take_snapshot(root, devices, pid)
    elapsed = max(after.moment_seconds - before.moment_seconds, 1e-9)
    io = _difference(before.io_full_seconds, after.io_full_seconds)
    memory = _difference(before.memory_full_seconds, after.memory_full_seconds)
    device = _difference(before.device_bytes, after.device_bytes)
    return Conditions(
        io_full_share=None if io is None else io / elapsed,
        memory_full_share=None if memory is None else memory / elapsed,
        temperature_celsius=device_temperature(root, devices),
        device_bytes=None if device is None else round(device),
        engine_bytes=after.engine_bytes - before.engine_bytes,
        disturbers=others.names if others else (),
        hidden=others.hidden if others else "",
        cpu=cpu,
    )


def _difference(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


def _full_seconds(root: Sysroot, resource: str) -> float | None:
    try:
        match = _FULL.search(root.read_optional(f"proc/pressure/{resource}") or "")
    except ProbeError:  # EOPNOTSUPP where PSI is compiled in and switched off
        return None
    return int(match[1]) / 1e6 if match else None


def device_temperature(root: Sysroot, devices: Sequence[str]) -> float | None:
    """Give the hottest sensor of the devices in degrees Celsius; None where none is readable."""
    found = []
    for device in devices:
        folder = f"sys/block/{device}/device"
        for place in (folder, f"{folder}/hwmon"):
            sensors = [f"{place}/{name}" for name in root.names(place) if name.startswith("hwmon")]
            texts = [root.read_optional(f"{sensor}/temp1_input") for sensor in sensors]
            found += [int(text) / 1000 for text in texts if text]  # millidegrees
    return max(found, default=None)
