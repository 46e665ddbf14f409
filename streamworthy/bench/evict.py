"""Getting files out of the page cache and into it, without root and verified.

posix_fadvise(POSIX_FADV_DONTNEED) drops clean pages that no process has mapped, whoever owns the file. It skips
dirty pages, hence the fsync, and pages that are still on a processor's list of new ones, hence the repetition.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import accumulate
from typing import TYPE_CHECKING

from streamworthy.bench.disturbers import find_mappers
from streamworthy.bench.page_cache import open_shard
from streamworthy.bench.residency import residency
from streamworthy.errors import ProbeError
from streamworthy.facts.episode import Eviction
from streamworthy.probes.sysroot import Sysroot
from streamworthy.units import format_share

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from streamworthy.facts.episode import Residency

COLD_SHARE = 0.01
WARM_SHARE = 0.99
_PATIENCE_SECONDS = 1.0
_PAUSE_SECONDS = 0.01
_READ_BYTES = 4 * 2**20


def evict(paths: Sequence[Path], *, patience_seconds: float = _PATIENCE_SECONDS) -> Eviction:
    """Drop the files' pages and look whether they are gone (at most 1 % resident).

    Repeats for at most ``patience_seconds``. ``kept`` of the answer says why pages stayed. Raises ProbeError when a
    file cannot be opened or its residency cannot be learned.
    """
    if not hasattr(os, "posix_fadvise"):
        raise ProbeError("page cache: this system has no posix_fadvise", fix="run the performance gates on Linux")
    started, passes = time.monotonic(), 0
    while True:
        _drop(paths)
        passes += 1
        after = residency(paths)
        elapsed = time.monotonic() - started
        if after.share <= COLD_SHARE or elapsed >= patience_seconds:
            break
        time.sleep(_PAUSE_SECONDS)
    kept = "" if after.share <= COLD_SHARE else _explain(paths, after)
    return Eviction(after=after, seconds=elapsed, passes_count=passes, kept=kept)


def _drop(paths: Sequence[Path]) -> None:
    for path in paths:
        with open_shard(path) as descriptor:
            with suppress(OSError):  # EINVAL on squashfs and erofs, which have nothing to write
                os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def _explain(paths: Sequence[Path], after: Residency) -> str:
    share = format_share(after.share)
    mapping, _ = find_mappers(Sysroot(), paths)
    if mapping:
        return f"{share} stays in the page cache: mapped by {', '.join(mapping)}"
    return f"{share} stays in the page cache although no visible process maps it: tmpfs, or pages locked elsewhere"


def warm(paths: Sequence[Path], budget_bytes: int) -> Residency:
    """Read what is missing of the files into the page cache, at most ``budget_bytes``, and say what is resident.

    Two readers share the files; a file that is wholly resident is not read. Raises ProbeError as evict does.
    """
    missing = [path for path in paths if residency([path]).share < 1.0]
    sizes = accumulate(path.stat().st_size for path in missing)
    allowed = [path for path, total in zip(missing, sizes, strict=True) if total <= budget_bytes]
    with ThreadPoolExecutor(max_workers=2) as readers:
        list(readers.map(_read, allowed))
    return residency(paths)


def _read(path: Path) -> None:
    buffer = bytearray(_READ_BYTES)
    with open_shard(path) as descriptor:
        while os.readv(descriptor, [buffer]):
            pass
