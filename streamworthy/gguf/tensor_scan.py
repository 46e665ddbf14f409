"""Looks into the tensors' data for floats that are NaN or infinite and for long runs of zeros.

Read with pread(2), past the page cache: a memory map of a damaged file ends the process, and what was read for a check
must not make the model warm. A look at the places of a sample is bounded in time after the first place of each tensor.
"""

from __future__ import annotations

import random
import time
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from streamworthy.errors import ProbeError
from streamworthy.facts.integrity import BrokenTensor, TensorScan, ZeroRun
from streamworthy.gguf.hash_reading import reading
from streamworthy.gguf.range_reading import RangeReader
from streamworthy.gguf.scales import checked_type, find_broken
from streamworthy.gguf.tensor_sample import plan_places
from streamworthy.gguf.tensor_stream import TensorCutter
from streamworthy.gguf.whole_files import Job, read_whole
from streamworthy.gguf.zero_runs import PageRuns, follow_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from threading import Event

    import numpy as np
    from numpy.typing import NDArray

    from streamworthy.facts.gguf import HeaderFacts, TensorFacts
    from streamworthy.gguf.tensor_sample import Place
    from streamworthy.gguf.tensor_types import TensorType
    from streamworthy.gguf.whole_files import Progress

STRIDE_BYTES = {"quick": 32 * 2**20, "standard": 4 * 2**20}  # 390 GB: 20 000 and 100 000 places
BUDGET_SECONDS = {"quick": 5.0, "standard": 60.0}  # for what comes after the first place of each tensor
_IN_FLIGHT = 8
_SEED = 1


@dataclass
class _Found:
    """What was found so far in one tensor."""

    looked: int = 0
    broken: int = 0
    first: int = 0

    def add(self, kind: TensorType, offset: int, raw: NDArray[np.uint8]) -> None:
        """Look at some whole blocks that lie at ``offset``."""
        blocks = find_broken(kind, raw)
        self.looked += len(raw) // kind.block_bytes
        if blocks.size:
            place = offset + int(blocks[0]) * kind.block_bytes
            self.first = min(self.first, place) if self.broken else place
            self.broken += int(blocks.size)


@dataclass
class _Shard:
    """One shard and what was found in it."""

    path: Path
    header: HeaderFacts
    tensors: dict[str, _Found] = field(default_factory=dict)
    zeros: list[range] = field(default_factory=list)
    looked_bytes: int = 0
    runs: tuple[ZeroRun, ...] = ()

    def found(self, tensor: TensorFacts) -> _Found:
        """Give what was found in a tensor."""
        return self.tensors.setdefault(tensor.name, _Found())


def scan_tensors(
    headers: Mapping[Path, HeaderFacts], *, depth: str, progress: Callable[[Progress], None] | None
) -> TensorScan:
    """Look into the tensors of the shards with these headers, as deeply as asked: all of it at ``full``.

    ProbeError when a shard cannot be opened.
    """
    begin = time.monotonic()
    shards = [_Shard(path, header) for path, header in headers.items()]
    scan = _sample(shards, depth) if depth in STRIDE_BYTES else _read_all(shards, progress)
    return replace(scan, seconds=time.monotonic() - begin)


def _sample(shards: Sequence[_Shard], depth: str) -> TensorScan:
    stride = STRIDE_BYTES[depth]
    places = [(shard, place) for shard in shards for place in plan_places(shard.header, stride)]
    first = [one for one in places if one[1].first]
    others = [one for one in places if not one[1].first]
    random.Random(_SEED).shuffle(others)  # noqa: S311 - so that a slow disk's share is spread over the model
    with ExitStack() as stack:
        readers = {shard.path: stack.enter_context(RangeReader(shard.path)) for shard in shards}
        done = _look_at(readers, first, seconds=None) + _look_at(readers, others, seconds=BUDGET_SECONDS[depth])
        for shard in shards:
            shard.runs = follow_runs(readers[shard.path], shard.header, shard.zeros)
    least = [
        shard.tensors[tensor.name].looked
        for shard in shards
        for tensor, kind in _known(shard.header)
        if shard.tensors[tensor.name].looked < tensor.size_bytes // kind.block_bytes
    ]
    scan = _gather(shards)
    if not least and done == len(places):
        return scan
    return replace(
        scan, place_count=done, stride_bytes=stride if done == len(places) else None, least_blocks_count=min(least)
    )


def _look_at(
    readers: Mapping[Path, RangeReader], places: Sequence[tuple[_Shard, Place]], *, seconds: float | None
) -> int:
    """Look at places until they or the time are used up; gives how many."""
    deadline = None if seconds is None else time.monotonic() + seconds
    chunk = _IN_FLIGHT * 16
    done = 0
    with ThreadPoolExecutor(_IN_FLIGHT, thread_name_prefix="tensor-look") as pool:
        while done < len(places) and (deadline is None or time.monotonic() < deadline):
            part = places[done : done + chunk]
            reads = (
                pool.submit(readers[shard.path].read, place.offset_bytes, place.size_bytes) for shard, place in part
            )
            for (shard, place), read in zip(part, list(reads), strict=True):
                _look(shard, place, read.result())
            done += len(part)
    return done


def _look(shard: _Shard, place: Place, raw: NDArray[np.uint8]) -> None:
    shard.found(place.tensor).add(place.kind, place.offset_bytes, raw)
    shard.looked_bytes += len(raw)
    if not raw.any():
        shard.zeros.append(range(place.offset_bytes, place.offset_bytes + place.size_bytes))


def _read_all(shards: Sequence[_Shard], progress: Callable[[Progress], None] | None) -> TensorScan:
    jobs = [_ShardJob(shard) for shard in shards]
    found, failures = read_whole(jobs, _read_shard, progress, verb="looking at tensors")
    return replace(_gather(list(found.values())), unread=failures)


class _ShardJob(Job):
    """One shard to be looked at whole."""

    def __init__(self, shard: _Shard) -> None:
        self.shard = shard
        super().__init__(shard.path, shard.header.file_bytes)


def _read_shard(job: _ShardJob, stop: Event, *, ahead: bool) -> _Shard:
    import numpy as np

    shard = job.shard
    runs, cutter, blocks = PageRuns(), TensorCutter(shard.header), _Blocks(shard)
    with reading(job.path, ahead=ahead) as pieces:
        for piece in pieces:
            if stop.is_set():
                raise CancelledError
            runs.feed(job.done_bytes, np.frombuffer(piece, np.uint8))
            for tensor, offset, part in cutter.cut(piece):
                blocks.add(tensor, offset, np.frombuffer(part, np.uint8))
            job.done_bytes += len(piece)
    if job.done_bytes < shard.header.file_bytes:
        raise ProbeError("became shorter while it was read", fix="wait until the download is complete")
    with RangeReader(job.path) as reader:
        shard.runs = follow_runs(reader, shard.header, runs.end(job.done_bytes))
    return shard


class _Blocks:
    """Puts the parts of a tensor together to whole blocks, and looks at them."""

    def __init__(self, shard: _Shard) -> None:
        self.shard = shard
        self.tensor = ""
        self.carried: NDArray[np.uint8] | None = None  # the beginning of a block whose end is in the next piece

    def add(self, tensor: TensorFacts, offset: int, part: NDArray[np.uint8]) -> None:
        """Take the next part."""
        import numpy as np

        kind = checked_type(tensor.type_name)
        if kind is None:
            return
        if self.carried is not None and tensor.name == self.tensor:
            offset -= len(self.carried)
            part = np.concatenate((self.carried, part))
        whole = len(part) // kind.block_bytes * kind.block_bytes
        self.tensor = tensor.name
        self.carried = part[whole:].copy() if whole < len(part) else None  # the piece is reused
        self.shard.found(tensor).add(kind, offset, part[:whole])
        self.shard.looked_bytes += whole


def _known(header: HeaderFacts) -> Iterator[tuple[TensorFacts, TensorType]]:
    """Give the tensors whose layout is known and of which the file holds a block at least."""
    for tensor in header.tensors:
        kind = checked_type(tensor.type_name)
        start = header.data_start_bytes + tensor.offset_bytes
        if kind and min(tensor.size_bytes, header.file_bytes - start) >= kind.block_bytes:
            yield tensor, kind


def _gather(shards: Sequence[_Shard]) -> TensorScan:
    """Put together what was found; as if everything had been looked at."""
    tensors = [tensor for shard in shards for tensor in shard.header.tensors]
    return TensorScan(
        tensor_count=len(tensors),
        tensor_bytes=sum(tensor.size_bytes for tensor in tensors),
        looked_bytes=sum(shard.looked_bytes for shard in shards),
        place_count=None,
        stride_bytes=None,
        least_blocks_count=None,
        broken=tuple(one for shard in shards for one in _broken(shard)),
        zero_runs=tuple(run for shard in shards for run in shard.runs),
        unchecked=tuple(sorted({one.type_name for one in tensors if checked_type(one.type_name) is None})),
        unread=(),
        seconds=0.0,
    )


def _broken(shard: _Shard) -> Iterable[BrokenTensor]:
    for tensor in shard.header.tensors:
        found = shard.tensors.get(tensor.name)
        if found is not None and found.broken:
            yield BrokenTensor(
                path=shard.path,
                name=tensor.name,
                type_name=tensor.type_name,
                broken_count=found.broken,
                looked_count=found.looked,
                first_offset_bytes=found.first,
            )
