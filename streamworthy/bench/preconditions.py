"""Waiting, within bounds, for a machine that is quiet enough to be measured; who disturbs it is named."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from streamworthy.bench.cpu_load import cpu_load_since, take_cpu_snapshot
from streamworthy.bench.disk_activity import watch_disks
from streamworthy.errors import ProbeError
from streamworthy.probes.sysroot import Sysroot

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamworthy.facts.conditions import ActivityFacts, PressureFacts, TemperatureFacts
    from streamworthy.probes.machine import Machine

PATIENCE_SECONDS = 20.0  # two of the kernel's ten-second averages
_PAUSE_SECONDS = 2.0  # the kernel renews its averages as often
_LOOK_SECONDS = 0.5
_CALM_SHARE = 0.05  # nobody is looked for below it

Facts = TypeVar("Facts")


def wait_until(
    look: Callable[[], Facts],
    sound: Callable[[Facts], bool],
    *,
    patience_seconds: float,
    pause_seconds: float = _PAUSE_SECONDS,
) -> Facts:
    """Look until what is seen is sound or patience ends; gives what was seen last."""
    deadline = time.monotonic() + patience_seconds
    found = look()
    while not sound(found) and time.monotonic() + pause_seconds <= deadline:
        time.sleep(pause_seconds)
        found = look()
    return found


def look_at_pressure(machine: Machine) -> PressureFacts:
    """Read the pressure anew, with who computes where there is any."""
    found: PressureFacts = machine.again("pressure")
    if machine.root.live and (found.cpu_share or 0.0) > _CALM_SHARE:
        found = replace(found, busiest=_busiest())
        machine.learn("pressure", found)
    return found


def _busiest() -> tuple[str, ...]:
    root = Sysroot()  # not the machine's: a capture has no use for every process
    before = take_cpu_snapshot(root, None)
    time.sleep(_LOOK_SECONDS)
    load = cpu_load_since(before, root, pid=None, own=(), threads=0)
    return load.busiest if load else ()


def look_at_disks(machine: Machine) -> ActivityFacts:
    """Watch the model's disks for a moment; ProbeError when they are not known."""
    if machine.root.live:
        _require_known_disks(machine, "activity of the disks")
    names = tuple(dict.fromkeys(leaf.name for volume in machine.volumes.volumes for leaf in volume.leaves))
    found = watch_disks(Sysroot() if machine.root.live else machine.root, names)
    machine.learn("activity", found)
    return found


def look_at_temperatures(machine: Machine) -> TemperatureFacts:
    """Read the model's disks' sensors anew; ProbeError when the disks are not known."""
    _require_known_disks(machine, "temperatures")
    found: TemperatureFacts = machine.again("temperatures")
    return found


def _require_known_disks(machine: Machine, what: str) -> None:
    reason = next((volume.leaves_unknown for volume in machine.volumes.volumes if volume.leaves_unknown), None)
    if reason is not None:
        raise ProbeError(
            f"{what}: the disks below the model are not known: {reason}",
            fix="run on the host itself, or mount a folder of the host that lies on one disk",
        )
