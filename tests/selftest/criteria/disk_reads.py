"""Sound measurements of a disk; tests change one thing by name. Not a test."""

from __future__ import annotations

from dataclasses import replace

from streamworthy.facts.disk import (
    DiskState,
    LatencyReads,
    ReadAhead,
    ReadAheadFacts,
    ReadRate,
    SequentialReads,
    SlabReads,
    SlabSize,
    SustainedReads,
)

MIB = 2**20
GB = 10**9
STATE = DiskState(
    refused="",
    refused_fix=(),
    doubts=(),
    devices=("nvme0n1",),
    scratch="",
    method="O_DIRECT",
    reread_ratio=1.01,
    link_bytes_per_second=3.94e9,
    temperature_celsius=45.0,
    disturbers=(),
    hidden="",
)
REFUSED = replace(STATE, refused="cp (pid 9) uses the shards", refused_fix=("end that process and run again",))
CACHED = replace(STATE, doubts=("the same bytes were 3.0 times as fast the second time: a cache of the host answers",))
SPARSE = replace(STATE, doubts=("/data holds 1 MiB of 9 GiB of shards: the holes are zeros that no disk gives",))
RATE = ReadRate(
    path="O_DIRECT",
    block_bytes=MIB,
    lanes_count=8,
    rates_bytes_per_second=(2.0 * GB, 3.0 * GB, 4.0 * GB),
    seconds=3.0,
    useful_bytes=9 * GB,
    own_bytes=9 * GB,
    device_bytes=9 * GB,
    resident_share=None,
)
ONE = replace(RATE, lanes_count=1, rates_bytes_per_second=(1.0 * GB, 1.0 * GB, 1.0 * GB))
MAPPED = replace(
    RATE,
    path="mmap faults",
    block_bytes=6 * MIB,
    lanes_count=4,
    useful_bytes=100 * MIB,
    own_bytes=120 * MIB,
    device_bytes=120 * MIB,
    resident_share=0.001,
)
SEQUENTIAL = SequentialReads(one=ONE, eight=RATE, state=STATE)
LATENCY = LatencyReads(
    latencies_seconds=(80e-6, 100e-6, 900e-6),
    median_seconds=100e-6,
    p99_seconds=900e-6,
    iops_one=9_000.0,
    iops_many=250_000.0,
    own_bytes=3 * 4096,
    device_bytes=3 * 4096,
    state=STATE,
)
SIZE = SlabSize(slab_bytes=6 * MIB, one=ONE, eight=RATE, mapped=MAPPED, populated=None)
SLABS = SlabReads(slab_sizes_bytes=(6 * MIB,), sizes=(SIZE,), dense="", warm="", state=STATE)
SUSTAINED = SustainedReads(
    skipped="",
    rates_bytes_per_second=(3.0 * GB,) * 20 + (2.9 * GB,) * 20 + (2.4 * GB,) * 20,
    celsius_before=40.0,
    celsius_after=71.0,
    wrapped=False,
    own_bytes=166 * GB,
    device_bytes=166 * GB,
    state=STATE,
)
DEVICE = ReadAhead(
    mount_point="/data",
    device="nvme0n1",
    setting="/sys/block/nvme0n1/queue/read_ahead_kb",
    read_ahead_bytes=128 * 2**10,
    udev_match='KERNEL=="nvme0n1"',
    shards_count=7,
)
READ_AHEAD = ReadAheadFacts(devices=(DEVICE,))
LARGE = ReadAheadFacts(devices=(replace(DEVICE, read_ahead_bytes=8 * MIB),))


def slabs(**changes):
    """Give slabs of one size with changes to it."""
    return replace(SLABS, sizes=(replace(SIZE, **changes),))
