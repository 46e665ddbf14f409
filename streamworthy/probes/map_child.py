"""Maps and touches one page of each file, in a process that may die of it: a shard that shrinks ends it by SIGBUS.

Runs as a file of its own with nothing of the library, so that it starts in some hundredths of a second. It reads paths
from its input, NUL after each, and writes a line when a step of a file begins and one when it ended:
``0 map`` and ``0 map ENODEV``; ``ok``, or the seconds of a direct read, when it ended well.
"""

from __future__ import annotations

import errno
import mmap
import os
import resource
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")

_PAGE_BYTES = 4096  # the largest sector that disks have; mmap(2) itself rounds up to the page


def main() -> None:
    """Go through the files in their order."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number, path in enumerate(sys.stdin.buffer.read().split(b"\0")[:-1]):
        opened = _step(number, "open", partial(os.open, path, os.O_RDONLY | os.O_CLOEXEC))
        if opened is not None:
            _try_shard(number, path, opened)
            os.close(opened)


def _try_shard(number: int, path: bytes, opened: int) -> None:
    size = os.fstat(opened).st_size
    if not size:  # an empty file has no page: the gates on shards name it
        return
    _step(number, "direct", partial(_read_direct, path))
    area = _step(number, "map", partial(_map, opened, min(_PAGE_BYTES, size)))
    if area is not None:
        _step(number, "touch", partial(area.__getitem__, 0))
        area.close()


def _map(descriptor: int, length: int) -> mmap.mmap:
    return mmap.mmap(descriptor, length, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ)


def _read_direct(path: bytes) -> float:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECT)
    try:
        with mmap.mmap(-1, _PAGE_BYTES) as buffer:  # page-aligned, as O_DIRECT asks
            began = time.perf_counter()
            os.preadv(descriptor, [buffer], 0)
            return time.perf_counter() - began
    finally:
        os.close(descriptor)


def _step(number: int, name: str, work: Callable[[], Result]) -> Result | None:
    _say(f"{number} {name}")
    try:
        found = work()
    except OSError as error:
        _say(f"{number} {name} {errno.errorcode.get(error.errno or 0, str(error.errno))}")
        return None
    _say(f"{number} {name} {found if isinstance(found, float) else 'ok'}")
    return found


def _say(line: str) -> None:
    os.write(1, f"{line}\n".encode())  # at once: this process may not live to flush


if __name__ == "__main__":
    main()
