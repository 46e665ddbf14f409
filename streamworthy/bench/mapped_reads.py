"""Slabs through a map of the file, as llama.cpp reads them, and as an engine that fetches them whole would.

llama.cpp maps with MAP_SHARED after FADV_SEQUENTIAL on the same descriptor (llama-mmap.cpp), and each of its threads
takes the next rows of an expert's matrix as it becomes free: here chunks of 18 KB, of which every byte is read.
"""

from __future__ import annotations

import ctypes
import errno
import itertools
import os
import threading
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from streamworthy.bench.direct_reads import Done
from streamworthy.bench.page_cache import PAGE_BYTES, map_range, open_shard, unmap_range
from streamworthy.errors import ProbeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from streamworthy.bench.direct_reads import Piece

CHUNK_BYTES = 18 * 2**10  # 16 rows of 2048 weights at 4.5 bits
_MADV_POPULATE_READ = 22  # asm-generic/mman-common.h, since Linux 5.14
_libc = ctypes.CDLL(None, use_errno=True)
_Item = TypeVar("_Item")


@contextmanager
def map_files(paths: Sequence[Path]) -> Iterator[Mapping[Path, int]]:
    """Map whole files as the engine does; their addresses. ProbeError when one cannot be mapped."""
    with ExitStack() as stack:
        maps = {}
        for path in paths:
            descriptor = stack.enter_context(open_shard(path))
            size = os.fstat(descriptor).st_size
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_SEQUENTIAL)
            address = map_range(descriptor, 0, size)
            if address is None:
                raise ProbeError(f"{path}: cannot be mapped", fix="put the shards on a filesystem that maps: ext4, xfs")
            stack.callback(unmap_range, address, size)
            maps[path] = address
        yield maps


def touch_pieces(maps: Mapping[Path, int], pieces: Sequence[Piece], *, threads: int, budget_seconds: float) -> Done:
    """Read every byte of the pieces through their maps, ``threads`` sharing each of them chunk by chunk."""
    import numpy as np

    _check_sizes(pieces)
    chunks = [(piece, start) for piece in pieces for start in range(0, piece.size_bytes, CHUNK_BYTES)]

    def touch(place: tuple[Piece, int]) -> int:
        piece, start = place
        size = min(CHUNK_BYTES, piece.size_bytes - start)
        words, address = size // 8, maps[piece.path] + piece.offset_bytes + start
        area: Any = (ctypes.c_uint64 * words).from_address(address)
        np.bitwise_xor.reduce(np.frombuffer(area, dtype=np.uint64))
        return size

    return _share(chunks, touch, threads=threads, budget_seconds=budget_seconds)


def populate_pieces(
    maps: Mapping[Path, int], pieces: Sequence[Piece], *, threads: int, budget_seconds: float
) -> Done | None:
    """Bring each piece in with one MADV_POPULATE_READ; None where the kernel does not know it."""
    _check_sizes(pieces)

    def populate(piece: Piece) -> int:
        first = piece.offset_bytes - piece.offset_bytes % PAGE_BYTES
        length = piece.offset_bytes + piece.size_bytes - first
        address = ctypes.c_void_p(maps[piece.path] + first)
        if _libc.madvise(address, ctypes.c_size_t(length), ctypes.c_int(_MADV_POPULATE_READ)) == 0:
            return piece.size_bytes
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(piece.path))

    try:
        return _share(pieces, populate, threads=threads, budget_seconds=budget_seconds)
    except OSError as error:
        if error.errno == errno.EINVAL:
            return None
        raise ProbeError(f"{error.filename}: MADV_POPULATE_READ failed: {error.strerror}") from error


def _check_sizes(pieces: Sequence[Piece]) -> None:
    """Look once more whether the files hold the pieces: beyond a file's end a map kills its reader."""
    ends: dict[Path, int] = {}
    for piece in pieces:
        ends[piece.path] = max(ends.get(piece.path, 0), piece.offset_bytes + piece.size_bytes)
    for path, end in ends.items():
        if (found := path.stat().st_size) < end:
            raise ProbeError(f"{path}: found {found} bytes, expected {end}: it was cut while it was measured")


def _share(items: Sequence[_Item], use: Callable[[_Item], int], *, threads: int, budget_seconds: float) -> Done:
    """Let threads take the next item until items or time are used up."""
    numbers, sizes, failed = itertools.count(), list[int](), list[OSError]()
    started = time.perf_counter()
    deadline = started + budget_seconds

    def work() -> None:
        try:
            for number in numbers:  # one counter for all: its next value is taken atomically
                if number >= len(items) or failed or time.perf_counter() > deadline:
                    return
                sizes.append(use(items[number]))
        except OSError as error:
            failed.append(error)

    workers = [threading.Thread(target=work, name=f"mapped-read-{n}") for n in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if failed:
        raise failed[0]
    seconds = time.perf_counter() - started
    return Done(seconds=seconds, useful_bytes=sum(sizes), pieces_count=len(sizes), latencies_seconds=())
