"""Roofs as measured, or as the tier takes them."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from streamworthy.bench.roofs import find_roofs
from streamworthy.errors import ProbeError
from streamworthy.facts.bandwidth import BandwidthFacts, NumaFacts, ThreadRates
from streamworthy.facts.disk import ReadRate, SlabReads, SlabSize
from streamworthy.facts.roofs import Roof, RoofFacts
from streamworthy.facts.tier import Roofs
from tests.selftest.criteria.disk_reads import STATE

REFERENCE = Roofs(
    disk_bytes_per_second=3e9, memory_bytes_per_second=30e9, prompt_tokens_per_second=3.0, available_bytes=2e10
)
RATE = ReadRate(
    path="O_DIRECT",
    block_bytes=2**20,
    lanes_count=8,
    rates_bytes_per_second=(5e9, 6e9, 5.5e9),
    seconds=1.0,
    useful_bytes=2**30,
    own_bytes=None,
    device_bytes=None,
    resident_share=None,
)
SIZE = SlabSize(slab_bytes=2**20, one=None, eight=RATE, mapped=None, populated=None)
BANDWIDTH = BandwidthFacts(
    sweep=(
        ThreadRates(threads_count=1, rates_bytes_per_second=(20e9, 21e9)),
        ThreadRates(threads_count=2, rates_bytes_per_second=(38e9, 40e9)),
    ),
    knee_threads_count=2,
    scattered=ThreadRates(threads_count=2, rates_bytes_per_second=(30e9,)),
    slab_bytes=2**20,
    working_set_bytes=2**28,
    last_level_cache_bytes=2**25,
    numa=NumaFacts(nodes=None, zone_reclaim_mode=0, numa_balancing=0),
    placed=None,
    unplaced="this kernel tells no memory nodes",
)


def slabs(**changes):
    """Make slab reads of one size."""
    state = {name: changes.pop(name) for name in ("refused", "doubts") if name in changes}
    values = {"slab_sizes_bytes": (2**20,), "sizes": (SIZE,), "dense": "", "warm": ""} | changes
    return SlabReads(**values, state=replace(STATE, **state))


class Starved:
    """A machine whose memory is too small to be measured."""

    disk = SimpleNamespace(slabs=slabs())

    @property
    def bandwidth(self):
        """Refuse."""
        raise ProbeError("memory bandwidth: found too little")


def test_the_best_that_was_measured_is_the_roof():
    """Whole record: the fastest pass, the fastest round."""
    bench = SimpleNamespace(bandwidth=BANDWIDTH, disk=SimpleNamespace(slabs=slabs()))
    assert find_roofs(bench, REFERENCE, bytes_per_token=7) == RoofFacts(
        memory=Roof(
            name="memory", bytes_per_second=40e9, measured=True, basis="the best pass over 256.0 MiB, read only"
        ),
        disk=Roof(name="disk", bytes_per_second=6e9, measured=True, basis="the best round of the model's slabs"),
        bytes_per_token=7,
    )


def test_what_could_not_be_measured_is_the_tiers():
    """With the reason; a doubtful rate is no roof either."""
    found = find_roofs(Starved(), REFERENCE, bytes_per_token=7).memory
    assert (found.bytes_per_second, found.measured) == (30e9, False)
    assert found.basis == "the tier's reference: memory bandwidth: found too little"
    for change, reason in (
        ({"refused": "cp (pid 9)"}, "cp (pid 9)"),
        ({"doubts": ("a host's cache", "faster than the link")}, "a host's cache; faster than the link"),
        ({"dense": "no experts", "sizes": ()}, "no experts"),
        ({"sizes": ()}, "no slab was read"),
    ):
        bench = SimpleNamespace(bandwidth=BANDWIDTH, disk=SimpleNamespace(slabs=slabs(**change)))
        disk = find_roofs(bench, REFERENCE, bytes_per_token=7).disk
        assert (disk.bytes_per_second, disk.measured) == (3e9, False)
        assert disk.basis == f"the tier's reference: {reason}"
