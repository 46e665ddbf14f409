"""The roofs over decoding: as measured in this run, or the tier's reference where that was not possible."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.errors import ProbeError
from streamworthy.facts.roofs import Roof, RoofFacts
from streamworthy.units import format_bytes

if TYPE_CHECKING:
    from streamworthy.bench.bench import Bench
    from streamworthy.facts.disk import SlabReads
    from streamworthy.facts.tier import Roofs


def find_roofs(bench: Bench, reference: Roofs, *, bytes_per_token: int) -> RoofFacts:
    """Take the best rate of memory and of the disk at the model's slabs; measures what nobody has before."""
    return RoofFacts(
        memory=_memory(bench, reference),
        disk=_disk(bench.disk.slabs, reference),
        bytes_per_token=bytes_per_token,
    )


def _memory(bench: Bench, reference: Roofs) -> Roof:
    try:
        found = bench.bandwidth
    except ProbeError as error:
        return Roof(
            name="memory",
            bytes_per_second=reference.memory_bytes_per_second,
            measured=False,
            basis=f"the tier's reference: {error.message}",
        )
    basis = f"the best pass over {format_bytes(found.working_set_bytes)}, read only"
    return Roof(name="memory", bytes_per_second=found.best_bytes_per_second, measured=True, basis=basis)


def _disk(slabs: SlabReads, reference: Roofs) -> Roof:
    paths = [rate for size in slabs.sizes for rate in (size.one, size.eight, size.mapped, size.populated)]
    rates = [rate for found in paths if found is not None for rate in found.rates_bytes_per_second]
    reason = slabs.state.refused or slabs.dense or "; ".join(slabs.state.doubts)
    if reason or not rates:
        basis = f"the tier's reference: {reason or 'no slab was read'}"
        return Roof(name="disk", bytes_per_second=reference.disk_bytes_per_second, measured=False, basis=basis)
    return Roof(name="disk", bytes_per_second=max(rates), measured=True, basis="the best round of the model's slabs")
