"""A sound volume; tests change one thing by name."""

from __future__ import annotations

from dataclasses import replace

from streamworthy.facts.storage import (
    BlockLeaf,
    LatencyFacts,
    Mount,
    RandomReads,
    Space,
    Volume,
    VolumeLatency,
    VolumesFacts,
)

NVME = BlockLeaf(
    name="nvme0n1",
    major_minor="259:0",
    transport="nvme",
    rotational=False,
    flags_are_evidence=True,
    model="Samsung SSD 990 PRO 2TB",
    size_bytes=2 * 10**12,
    read_ahead_bytes=128 * 2**10,
    chain=("nvme0n1p2", "nvme0n1"),
)
MOUNT = Mount(
    mount_id=31,
    parent_id=1,
    major_minor="259:2",
    root="/",
    mount_point="/data",
    options=("rw", "relatime"),
    fstype="ext4",
    source="/dev/nvme0n1p2",
    super_options=("rw",),
    network=None,
)
VOLUME = Volume(
    mount=MOUNT,
    beneath=(),
    leaves=(NVME,),
    leaves_unknown=None,
    space=Space(total_bytes=2000, free_bytes=1100, available_bytes=1000),
    shards=("/data/glm/a.gguf",),
    shard_bytes=500,
    allocated_bytes=504,
    encoded_shards=None,
)


def leaf(transport, *, rotational=False, evidence=True, name="sda", model=None):
    """Give a disk of another kind."""
    return replace(
        NVME,
        name=name,
        transport=transport,
        rotational=rotational,
        flags_are_evidence=evidence,
        model=model,
        chain=(name,),
    )


def on(fstype, *, network=None, **changes):
    """Give the sound volume with another filesystem."""
    return replace(VOLUME, mount=replace(MOUNT, fstype=fstype, network=network, **changes))


def facts(*volumes, home="/data", total=500):
    """Join volumes to facts."""
    return VolumesFacts(volumes=volumes or (VOLUME,), home=home, folder="/data/glm", set_total_bytes=total)


def latency(median_seconds=None, *, mount_point="/data", reason="the shards are in the page cache"):
    """Give a measured or an unknown latency."""
    reads = median_seconds and RandomReads(
        method="O_DIRECT",
        latencies_seconds=(median_seconds, median_seconds),
        read_count=2,
        median_seconds=median_seconds,
        p99_seconds=median_seconds,
    )
    return LatencyFacts(volumes=(VolumeLatency(mount_point=mount_point, reads=reads, reason="" if reads else reason),))
