"""How much of a set of files the page cache holds, asked without reading the files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from streamworthy.bench.page_cache import Span, ask_ranges, open_shard
from streamworthy.facts.episode import Residency

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

_PROBES = 2_000  # of a file: each miss starts a read of about one page, so the sample has to stay small


def residency(paths: Sequence[Path], *, without: Collection[str] = ()) -> Residency:
    """Tell how much of the files is in the page cache; raises ProbeError when no interface can tell for one of them.

    ``without`` names interfaces that are not to be asked, as on a kernel that lacks them.
    """
    parts = [_file_residency(path, without) for path in paths]
    return Residency(
        resident_bytes=sum(part.resident_bytes for part in parts),
        total_bytes=sum(part.total_bytes for part in parts),
        method="+".join(dict.fromkeys(part.method for part in parts)),
    )


def _file_residency(path: Path, without: Collection[str]) -> Residency:
    with open_shard(path) as descriptor:
        whole = Span(offset_bytes=0, size_bytes=os.fstat(descriptor).st_size, probes_count=_PROBES)
        method, (found,) = ask_ranges(descriptor, path, [whole], without=without)
    return Residency(resident_bytes=found.resident_bytes, total_bytes=found.total_bytes, method=method)
