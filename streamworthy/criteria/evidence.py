"""What is kept with a number: the state that it was taken in, and what machine and engine did meanwhile. Pure."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from streamworthy.criteria.confirmed import describe
from streamworthy.units import format_bytes, format_count, format_share

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from streamworthy.facts.counters import Counters
    from streamworthy.facts.cpu_load import CpuLoad
    from streamworthy.facts.episode import Series

    Value = Callable[[Counters], float | None]
    Write = Callable[[float], str]


def evidence(series: Series, write: Write, values: tuple[float, ...]) -> tuple[str, ...]:
    """Write spread, cache state, bytes and the counters, each as the median; what is not known is left out."""
    samples = series.samples
    if not samples:
        return ()
    facts = {
        "state": series.state,
        "spread": f"{write(min(values))} to {write(max(values))}",
        "resident_before": _median([sample.resident_share for sample in samples], format_share),
        "device_bytes": _median([sample.device_bytes for sample in samples], format_bytes),
        "major_faults": _median([sample.major_faults for sample in samples], format_count),
        **_counted([sample.counters for sample in samples]),
        "disturbed_by": ", ".join(dict.fromkeys(name for sample in samples for name in sample.disturbers)),
        **_loads([sample.counters.cpu for sample in samples]),
        "not_seen": samples[0].hidden,
        "changed_on_purpose": "; ".join(map(describe, series.interventions)),
        "notes": "; ".join(sample.note for sample in samples if sample.note),
    }
    return tuple(f"{name}={text}" for name, text in facts.items() if text)


def _counted(counters: list[Counters]) -> dict[str, str]:
    def told(value: Value, write: Write) -> str:
        return _median([value(each) for each in counters], write)

    def happened(value: Value, write: Write) -> str:
        """Leave out as well what never happened."""
        return told(value, write) if any(value(each) for each in counters) else ""

    return {
        "psi_io_full": told(lambda each: each.io_full_share, format_share),
        "psi_memory_full": told(lambda each: each.memory_full_share, format_share),
        "device_busy": told(lambda each: each.device_busy_share, format_share),
        "device_queue": told(lambda each: each.device_queue_depth, lambda value: f"{value:.1f} requests"),
        "engine_cpu": told(lambda each: each.engine_cores, _cores),
        "refaulted": told(lambda each: each.refaulted_bytes, format_bytes),
        "swapped_in": happened(lambda each: each.swapped_in_bytes, format_bytes),
        "kswapd": happened(lambda each: each.kswapd_cores, _cores),
        "temperature": told(lambda each: each.device_celsius, _celsius),
        "cpu_temperature": told(lambda each: each.cpu_celsius, _celsius),
        "clock": told(lambda each: each.clock_share, lambda value: f"{format_share(value)} of the highest"),
        "throttled": happened(lambda each: each.throttle_count, lambda value: f"{value:.0f} times"),
    }


def _loads(found: list[CpuLoad | None]) -> dict[str, str]:
    loads = [load for load in found if load is not None]
    disturbed = [load for load in loads if load.disturbed]
    return {
        "cpu_of_others": _median([load.others_cores for load in loads], _cores),
        "run_queue_wait": _median([load.wait_share for load in loads], format_share),
        "other_load": "; ".join(max(disturbed, key=lambda load: load.others_cores).busiest if disturbed else ()),
    }


def _median(values: Sequence[float | None], write: Write) -> str:
    known = [value for value in values if value is not None]
    return write(median(known)) if known else ""


def _cores(value: float) -> str:
    return f"{value:.2f} cores"


def _celsius(value: float) -> str:
    return f"{value:.0f} C"
