"""Why a disk's number may be better than the disk: what answers instead of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from streamworthy.bench.page_cache import Span, ask_ranges, open_shard
from streamworthy.bench.residency_map import add_up
from streamworthy.units import format_bytes, format_rate, format_share

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from streamworthy.bench.direct_reads import Piece
    from streamworthy.facts.cache import RangeResidency
    from streamworthy.facts.disk import ReadRate
    from streamworthy.facts.storage import Volume, VolumesFacts

_MEMORY = ("tmpfs", "ramfs")
_PACKED = ("squashfs", "erofs", "cramfs")  # they take O_DIRECT or not; either way they unpack
REREAD_RATIO = 1.4  # a host's memory is several times as fast as a disk; a noisy machine repeats within a third
_READ_SHARE = 0.9  # of the bytes asked for; the rest leaves room for accounting of merged and split requests
_CACHED_SHARE = 0.1
_HOLES_SHARE = 0.99  # of the shards' size; extents and tails take a little more or less


def storage_doubts(facts: VolumesFacts) -> tuple[str, ...]:
    """Say of each volume that holds shards why reading it may not be reading a disk."""
    return tuple(doubt for volume in facts.volumes if volume.shards for doubt in _volume_doubts(volume))


def scratch_doubts(facts: VolumesFacts) -> tuple[str, ...]:
    """Say the same of the volume that the shards will come to, of which a file without holes is read."""
    homes = [volume for volume in facts.volumes if volume.mount.mount_point == facts.home]
    empty = [replace(volume, shard_bytes=0, allocated_bytes=0, encoded_shards=()) for volume in homes]
    return tuple(doubt for volume in empty for doubt in _volume_doubts(volume))


def _volume_doubts(volume: Volume) -> Iterable[str]:
    point, fstype = volume.mount.mount_point, volume.mount.fstype
    if fstype in _MEMORY:
        yield f"{point} is {fstype}: its files are in memory, and no disk is read"
    elif fstype == "zfs":
        yield f"{point} is zfs, which answers from a cache of its own"
    elif volume.encoded_shards or fstype in _PACKED:
        yield f"{point} ({fstype}) stores the shards compressed: fewer bytes come from the disk than are counted"
    elif volume.allocated_bytes < volume.shard_bytes * _HOLES_SHARE:
        held, size = format_bytes(volume.allocated_bytes), format_bytes(volume.shard_bytes)
        yield f"{point} holds {held} of {size} of shards: the holes are zeros that no disk gives"
    elif not volume.leaves:
        yield f"{point} ({fstype}): no disk is found below it, so nothing shows that one was read"


def reread_doubt(ratio: float | None) -> tuple[str, ...]:
    """Say so when reading the same bytes again was faster."""
    if ratio is None or ratio <= REREAD_RATIO:
        return ()
    return (f"the same bytes were {ratio:.1f} times as fast the second time: a cache of the host or the drive answers",)


def rate_doubts(rates: Sequence[ReadRate], link: float | None) -> tuple[str, ...]:
    """Say where direct reads did not come from the devices, or came faster than their link carries."""
    found = []
    for rate in rates:
        for name, count in (("this process", rate.own_bytes), ("the devices below", rate.device_bytes)):
            if count is not None and count < rate.useful_bytes * _READ_SHARE:
                share = format_share(count / rate.useful_bytes)
                found.append(f"{rate.path} reads are answered from memory: {share} of the bytes were read by {name}")
                break
        found += link_doubt(rate.rate_bytes_per_second, link)
    return tuple(dict.fromkeys(found))


def link_doubt(rate: float, link: float | None) -> tuple[str, ...]:
    """Say so where a rate is above what the devices' links carry: memory answered."""
    if link is None or rate <= link:
        return ()
    return (f"{format_rate(rate)} is more than the PCIe link of the devices carries ({format_rate(link)})",)


def cached_share(pieces: Sequence[Piece]) -> float:
    """Tell how much of the stretch that holds the pieces is in the page cache. ProbeError when nobody can tell."""
    ends: dict[Path, tuple[int, int]] = {}
    for piece in pieces:
        first, last = ends.get(piece.path, (piece.offset_bytes, 0))
        ends[piece.path] = min(first, piece.offset_bytes), max(last, piece.offset_bytes + piece.size_bytes)
    found: list[RangeResidency] = []
    for path, (first, last) in ends.items():
        with open_shard(path) as descriptor:
            span = Span(offset_bytes=first, size_bytes=last - first, probes_count=100)
            found += ask_ranges(descriptor, path, [span])[1]
    whole = add_up(found)
    return whole.resident_bytes / max(1, whole.total_bytes)


def buffered_doubt(before: float, after: float) -> tuple[str, ...]:
    """Say so when direct reads left their bytes in the page cache."""
    if after - before <= _CACHED_SHARE:
        return ()
    share = format_share(after - before)
    return (f"O_DIRECT was taken and not kept: {share} of what was read is now in the page cache",)
