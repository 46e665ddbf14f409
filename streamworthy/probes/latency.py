"""Random-read latency of the disks below the model, measured on the model's own shards.

It settles what a virtual disk's or a controller's flags cannot: a bare spinning disk needs milliseconds for each
random read (half a turn at 7200 turns a minute is 4.2 ms), flash and a host's cache need microseconds. Source:
open(2) O_DIRECT; ru_inblock of getrusage(2) RUSAGE_THREAD, since Linux 2.6.26, tells which reads reached a device.
"""

from __future__ import annotations

import mmap
import os
import random
import re
import resource
import statistics
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from streamworthy.errors import ProbeError
from streamworthy.facts.storage import LatencyFacts, RandomReads, VolumeLatency
from streamworthy.probes.captured import tables, take

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from streamworthy.facts.storage import BlockLeaf, Volume, VolumesFacts
    from streamworthy.probes.sysroot import Sysroot

READ_BYTES = 4096
_MAX_READS = 192
_MIN_READS = 16  # fewer say nothing about a median
_BUDGET_SECONDS = 1.5  # a spinning disk gives about 150 reads in this time
_DEADLINE_SECONDS = 6.0  # a disk that hangs is given up, with its thread


def probe_random_read_latency(
    root: Sysroot, facts: VolumesFacts, *, deadline_seconds: float = _DEADLINE_SECONDS
) -> LatencyFacts:
    """Measure each volume whose disks' flags are no evidence; the others are left alone, which is said.

    Never raises: what could not be measured has its reason. A captured machine answers from ``[[latency]]``.
    """
    return LatencyFacts(volumes=tuple(_latency(root, volume, deadline_seconds) for volume in facts.volumes))


def _latency(root: Sysroot, volume: Volume, deadline_seconds: float) -> VolumeLatency:
    reads, reason = None, ""
    if not volume.leaves and volume.leaves_unknown is None:
        reason = "no disk of this machine lies below it"
    elif volume.mount.fstype == "zfs":
        reason = "ZFS answers random reads from its own cache, which nothing tells apart from the disks"
    elif volume.leaves and all(leaf.flags_are_evidence for leaf in volume.leaves):
        reason = "not needed: the disks' own flags are evidence"
    elif not root.live:
        reads, reason = _captured(root, volume.mount.mount_point)
    else:
        try:
            reads = _measure_volume(root, volume, deadline_seconds)
        except ProbeError as error:
            reason = error.message
        root.note("latency", _to_capture(volume.mount.mount_point, reads, reason))
    return VolumeLatency(mount_point=volume.mount.mount_point, reads=reads, reason=reason)


def _measure_volume(root: Sysroot, volume: Volume, deadline_seconds: float) -> RandomReads:
    if not volume.shards:
        raise ProbeError(f"{volume.mount.mount_point}: no shard lies there yet, so nothing can be read to measure it")
    looped = [leaf for leaf in volume.leaves if any(re.fullmatch(r"loop[0-9]+", name) for name in leaf.chain)]
    before = _completed_reads(root, looped)
    reads = measure_random_reads(volume.shards, deadline_seconds=deadline_seconds)
    if looped and _completed_reads(root, looped) - before < reads.read_count:
        raise ProbeError(
            f"{volume.mount.mount_point}: the loop device's file is in the page cache, so its disk was not read",
            fix="attach it with losetup --direct-io=on",
        )
    return reads


def _completed_reads(root: Sysroot, leaves: Sequence[BlockLeaf]) -> int:
    # /sys/block/NAME/stat, first field: reads completed
    return sum(int(root.read_text(f"sys/block/{leaf.name}/stat").split()[0]) for leaf in leaves)


def _to_capture(mount_point: str, reads: RandomReads | None, reason: str) -> dict[str, object]:
    if reads is None:
        return {"mount": mount_point, "reason": reason}
    return {
        "mount": mount_point,
        "method": reads.method,
        "read_count": reads.read_count,
        "median_seconds": reads.median_seconds,
        "p99_seconds": reads.p99_seconds,
    }


def _captured(root: Sysroot, mount_point: str) -> tuple[RandomReads | None, str]:
    for answer in tables(root, "latency"):
        if take(root, "latency", answer, "mount", str) != mount_point:
            continue
        if "reason" in answer:
            return None, take(root, "latency", answer, "reason", str)
        return RandomReads(
            method=take(root, "latency", answer, "method", str),
            latencies_seconds=(),
            read_count=take(root, "latency", answer, "read_count", int),
            median_seconds=take(root, "latency", answer, "median_seconds", float),
            p99_seconds=take(root, "latency", answer, "p99_seconds", float),
        ), ""
    return None, "not measured when this machine was captured: machine.toml has no [[latency]] for it"


def measure_random_reads(
    paths: Sequence[str], *, deadline_seconds: float = _DEADLINE_SECONDS, budget_seconds: float = _BUDGET_SECONDS
) -> RandomReads:
    """Read 4 KiB at random aligned offsets of random files, one read at a time, and time each.

    O_DIRECT where the filesystem takes it; elsewhere buffered without read-ahead, nothing being evicted. Either way
    only reads that this thread's block input counter saw reach a device are counted. ProbeError when fewer than 16
    did, when a file cannot be read, or when the disk does not answer before the deadline.
    """
    found: list[RandomReads | OSError | ProbeError] = []

    def work() -> None:
        try:
            found.append(_measure(paths, budget_seconds))
        except (OSError, ProbeError) as error:
            found.append(error)

    thread = threading.Thread(target=work, name="random-reads", daemon=True)
    thread.start()
    thread.join(deadline_seconds)
    if not found:
        raise ProbeError(f"{paths[0]}: a 4 KiB read did not return within {deadline_seconds:.0f} s: the disk hangs")
    if isinstance(found[0], OSError):
        raise ProbeError(f"{found[0].filename or paths[0]}: cannot be read: {found[0].strerror}")
    if isinstance(found[0], ProbeError):
        raise found[0]
    return found[0]


def _measure(paths: Sequence[str], budget_seconds: float) -> RandomReads:
    sizes = {path: Path(path).stat().st_size // READ_BYTES for path in paths}
    large = [path for path, count in sizes.items() if count]
    if not large:
        raise ProbeError("no shard of at least 4 KiB lies on this volume, so nothing can be read to measure it")
    opened = {path: _open(path) for path in large}
    try:
        latencies = _read_at_random(opened, sizes, budget_seconds)
    finally:
        for descriptor, _ in opened.values():
            os.close(descriptor)
    direct = all(is_direct for _, is_direct in opened.values())
    if len(latencies) < _MIN_READS:
        raise ProbeError(
            f"{large[0]}: only {len(latencies)} random reads reached a device, at least {_MIN_READS} needed "
            f"({'memory or a process serves them' if direct else 'the shards are in the page cache'})"
        )
    return _summary(latencies, "O_DIRECT" if direct else "buffered, read-ahead off")


def _open(path: str) -> tuple[int, bool]:
    flags = os.O_RDONLY | os.O_CLOEXEC
    try:
        return os.open(path, flags | os.O_DIRECT), True
    except OSError as error:
        if error.errno in (13, 2, 1):  # EACCES, ENOENT, EPERM: buffered would not open either
            raise
    descriptor = os.open(path, flags)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
    return descriptor, False


def _read_at_random(
    opened: Mapping[str, tuple[int, bool]], sizes: Mapping[str, int], budget_seconds: float
) -> list[float]:
    chooser = random.Random()  # noqa: S311 - offsets, not secrets; unseeded, so that no second run meets a host's cache
    paths = list(opened)
    buffer = mmap.mmap(-1, READ_BYTES)  # page-aligned, as O_DIRECT asks
    latencies: list[float] = []
    end = time.perf_counter() + budget_seconds
    for _ in range(_MAX_READS):
        path = chooser.choice(paths)
        seen = resource.getrusage(resource.RUSAGE_THREAD).ru_inblock
        start = time.perf_counter()
        os.preadv(opened[path][0], [buffer], chooser.randrange(sizes[path]) * READ_BYTES)
        stop = time.perf_counter()
        if resource.getrusage(resource.RUSAGE_THREAD).ru_inblock > seen:
            latencies.append(stop - start)
        if stop > end:
            break
    return latencies


def _summary(latencies: list[float], method: str) -> RandomReads:
    ordered = sorted(latencies)
    return RandomReads(
        method=f"{method}, {READ_BYTES // 2**10} KiB reads at random offsets of the shards, one at a time",
        latencies_seconds=tuple(latencies),
        read_count=len(latencies),
        median_seconds=statistics.median(latencies),
        p99_seconds=ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))],
    )
