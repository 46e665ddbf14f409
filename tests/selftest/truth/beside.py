"""Who else is on this machine: a machine of known truth is one only while nobody unknown uses it. Not a test."""

from __future__ import annotations

from streamworthy.bench.cpu_load import cpu_load_since, take_cpu_snapshot
from streamworthy.bench.disturbers import find_disturbers
from streamworthy.bench.preconditions import wait_until
from streamworthy.criteria.disturbed import describe_load
from streamworthy.probes.sysroot import Sysroot

_CALM_CORES = 0.2
_LOOK_SECONDS = 1.0


def wait_until_quiet(patience_seconds):
    """Wait, not for ever, until nobody else computes or reads; says who does when patience ends."""
    told = wait_until(_busy, lambda found: not found, patience_seconds=patience_seconds)
    if told:
        print(f"    beside {told}", flush=True)  # noqa: T201 - what the table is worth


def _busy():
    root = Sysroot()
    before = take_cpu_snapshot(root, None)
    reading = find_disturbers(root, (), devices=(), own=(), window_seconds=_LOOK_SECONDS).reading
    load = cpu_load_since(before, root, pid=None, own=(), threads=0)
    computing = [describe_load(load)] if load and load.others_cores + load.steal_cores > _CALM_CORES else []
    return "; ".join((*computing, *reading))
