"""What a JUnit report carries beside pytest's own: properties of each case and of the suite."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from streamworthy import __version__
from streamworthy.errors import ProbeError
from streamworthy.probes import settings
from streamworthy.thresholds import declared_gates

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamworthy.criteria.spec import Limit
    from streamworthy.probes.machine import Machine
    from streamworthy.qualification import Qualification
    from streamworthy.verdict import Outcome


def case_properties(outcome: Outcome) -> list[tuple[str, str]]:
    """Give one gate's properties; ``status`` is authoritative, ``value`` and ``samples`` are in ``unit``."""
    found = outcome.verdict
    pairs = [
        ("gate", outcome.gate),
        ("status", str(found.word)),
        ("level", outcome.level),
        ("measured", found.measured),
        ("required", found.required),
        ("value", "" if found.value is None else repr(found.value)),
        ("unit", found.unit),
        *outcome.bounds,
        ("samples", " ".join(repr(sample) for sample in found.samples)),
        ("cause", found.cause),
        ("evidence", "; ".join(found.evidence)),
    ]
    return [(name, value) for name, value in pairs if value]


def format_bounds(limit: Limit) -> tuple[tuple[str, str], ...]:
    """Write a limit's bounds as people read them, by name."""
    bounds = declared_gates()[limit.gate].bounds
    return tuple((name, bounds[name].kind.format(value)) for name, value in limit.values.items())


def suite_properties(run: Qualification) -> dict[str, str]:
    """Give the run's properties: what the verdict binds. What could not be learned is "unknown"."""
    machine, subject, tier = run.machine, run.subject, run.tier
    build = run.pool.build if run.pool else None
    return {
        "verdict": str(run.closing),
        "scope": run.scope,
        "complete": str(run.complete).lower(),
        "host": run.shown_host,
        "machine_class": _ask(lambda: machine.host.machine_class if machine else None),
        "kernel": _ask(lambda: machine.host.kernel_release if machine else None),
        "cpu": _ask(lambda: machine.host.cpu_model if machine else None),
        "memory_total": _ask(lambda: machine.memory.total_bytes if machine else None),
        "device": _ask(lambda: devices(run)),
        "tier": tier.name if tier else "unknown",
        "tier_hash": tier.sha256 if tier else "unknown",
        "model": subject.name if subject else "none",
        "shard_identity": _ask(lambda: subject.identity if subject else None),
        "engine": f"{build.name} {build.version}" if build else "not run",
        "engine_build": (build.commit or "unknown") if build else "not run",
        "engine_flags": build.flags if build else "not run",
        "engine_cmake_args": (build.cmake_args or "unknown") if build else "not run",
        "engine_compiler": (build.compiler or "unknown") if build else "not run",
        "engine_features": (build.features or "unknown") if build else "not run",
        **{name: _ask(partial(_setting, machine, setting)) for name, setting in _SETTINGS.items()},
        "io_scheduler": _ask(lambda: _schedulers(run)),
        "suite_version": __version__,
        "depth": run.request.depth,
        "date": run.started.isoformat(timespec="seconds"),
    }


_SETTINGS = {
    "mglru": settings.MGLRU,
    "huge_pages": settings.HUGE_PAGES,
    "aspm_policy": settings.ASPM_POLICY,
    "apst_max_latency_us": settings.APST,
    "microcode": settings.MICROCODE,
    "kernel_parameters": settings.CMDLINE,
}


def _setting(machine: Machine | None, name: str) -> str | None:
    return machine.settings.value(name) if machine else None


def _schedulers(run: Qualification) -> str:
    if run.machine is None:
        return "unknown"
    names = dict.fromkeys(leaf.name for volume in run.machine.volumes.volumes for leaf in volume.leaves)
    found = {name: _setting(run.machine, f"sys/class/block/{name}/queue/scheduler") for name in names}
    return ", ".join(f"{name}: {value or 'unknown'}" for name, value in found.items())


def devices(run: Qualification) -> str:
    """Name the disks below the model: transport, model and kernel name of each leaf."""
    if run.machine is None:
        return "unknown"
    leaves = {leaf.name: leaf for volume in run.machine.volumes.volumes for leaf in volume.leaves}
    return ", ".join(f"{leaf.transport} {leaf.model or ''} {name}".replace("  ", " ") for name, leaf in leaves.items())


def _ask(learn: Callable[[], object]) -> str:
    try:
        value = learn()
    except ProbeError:
        return "unknown"
    return "unknown" if value in (None, "") else str(value)
