"""Keeping the tensors that every token reads in memory: mapped and locked (mlock(2)) for as long as this process wants.

Locked pages of a shared file map stay in the page cache for every process that maps the file, so an engine beside
this one has them without a limit of its own. The lock ends with the map, and at the latest with the process.
"""

from __future__ import annotations

import errno
import os
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from streamworthy.bench.page_cache import PAGE_BYTES, lock_range, map_range, open_shard, unmap_range
from streamworthy.bench.residency_map import residency_of
from streamworthy.bench.warm_up import order_places, warm_up
from streamworthy.errors import ProbeError, UsageError
from streamworthy.facts.cache import Hold
from streamworthy.facts.tensor_kinds import EVERY_TOKEN, TensorKind, TensorPlace
from streamworthy.probes.process_limits import probe_memlock
from streamworthy.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from streamworthy.facts.memory import MemlockFacts
    from streamworthy.probes.sysroot import Sysroot

Area = tuple["Path", int, int]  # file, offset and length in bytes, both whole pages


def dense_places(places: Iterable[TensorPlace]) -> list[TensorPlace]:
    """Give the tensors that every token reads, in the order in which they are worth holding."""
    return order_places(place for place in places if place.kind in EVERY_TOKEN)


def page_areas(places: Iterable[TensorPlace]) -> list[Area]:
    """Give whole pages that cover the tensors, neighbours joined, so that no page is locked twice."""
    spans: list[Area] = []
    for place in sorted(places, key=lambda place: (str(place.path), place.offset_bytes)):
        begin = place.offset_bytes // PAGE_BYTES * PAGE_BYTES
        end = -(-(place.offset_bytes + place.size_bytes) // PAGE_BYTES) * PAGE_BYTES
        if spans and spans[-1][0] == place.path and begin <= spans[-1][1] + spans[-1][2]:
            begin = spans.pop()[1]
        spans.append((place.path, begin, end - begin))
    return spans


def cut_areas(areas: Sequence[Area], limit_bytes: int) -> list[Area]:
    """Give as much of the areas as a limit lets lock, in whole pages."""
    left, kept = limit_bytes // PAGE_BYTES * PAGE_BYTES, []
    for path, offset, length in areas:
        if left <= 0:
            break
        kept.append((path, offset, min(length, left)))
        left -= length
    return kept


@contextmanager
def hold(
    root: Sysroot,
    places: Sequence[TensorPlace],
    *,
    available_bytes: int,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Hold]:
    """Hold the tensors' pages in memory while the context lasts, as far as this process may lock.

    The soft limit is raised to the hard one, for this process alone. UsageError when nothing may be locked or memory
    has no room for it; ProbeError when the kernel refuses.
    """
    areas = page_areas(places)
    wanted = sum(length for _, _, length in areas)
    if wanted > available_bytes:
        raise UsageError(
            f"hold: found {format_bytes(available_bytes)} of memory to spare, expected {format_bytes(wanted)}: locked"
            " pages are never given back, so other processes would be killed for them",
            fix="close what uses the memory: ps aux --sort=-rss | head",
        )
    with _raised_limit() as limit:
        locked = probe_memlock(root, need_bytes=wanted)
        room = _room(locked, limit)
        kept = areas if room is None else cut_areas(areas, room)
        if not kept:
            raise UsageError(
                f"hold: found a limit of {format_bytes(room or 0)} for locked memory, expected at least one page",
                fix=memlock_fix(wanted),
            )
        before = residency_of(places)
        warm_up([_place(area) for area in kept], wanted, progress=progress)  # readers in parallel, which mlock has not
        with _locked(kept):
            yield Hold(
                wanted_bytes=wanted,
                held_bytes=sum(length for _, _, length in kept),
                limit_bytes=room,
                locked_before=locked,
                locked_after=probe_memlock(root, need_bytes=wanted),
                before=before,
                after=residency_of(places),
            )


def _place(area: Area) -> TensorPlace:
    path, offset, length = area
    return TensorPlace(path=path, offset_bytes=offset, size_bytes=length, kind=TensorKind.DENSE, layer=None)


def memlock_fix(wanted_bytes: int) -> str:
    """Give the lines that raise the limit for locked memory far enough."""
    kib = -(-wanted_bytes // 2**10)
    return (
        f"sudo prlimit --pid $$ --memlock={kib * 2**10}:{kib * 2**10}  # for this shell\n"
        f'echo "$USER - memlock {kib}" | sudo tee /etc/security/limits.d/90-memlock.conf  # for good, after a new login'
    )


def _room(locked: MemlockFacts, limit: int | None) -> int | None:
    if locked.capable or limit is None:
        return None
    return max(0, limit - (locked.locked_bytes or 0))


@contextmanager
def _raised_limit() -> Iterator[int | None]:
    """Raise the soft limit to the hard one while the context lasts; gives it in bytes, None without one."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (hard, hard))
    try:
        yield None if hard == resource.RLIM_INFINITY else hard
    finally:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (soft, hard))


@contextmanager
def _locked(areas: Sequence[Area]) -> Iterator[None]:
    with ExitStack() as stack:
        for path, offset, length in areas:
            address = _map(path, offset, length)
            stack.callback(unmap_range, address, length)
            refused = lock_range(address, length)
            if refused:
                raise ProbeError(
                    f"{path}: {format_bytes(length)} cannot be locked: {os.strerror(refused)}",
                    fix=memlock_fix(length) if refused == errno.ENOMEM else "",
                )
        yield


def _map(path: Path, offset: int, length: int) -> int:
    with open_shard(path) as descriptor:
        address = map_range(descriptor, offset, length)
    if address is None:
        raise ProbeError(f"{path}: cannot be mapped", fix="keep the shards on ext4 or xfs")
    return address
