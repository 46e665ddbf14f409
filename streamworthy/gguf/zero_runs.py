"""Long runs of zeros in tensor data: followed to their ends, and laid beside the rows and matrices they touch.

A run is a range in which every byte is zero. Weights that are zero by intent are whole rows: unused tokens, pruned
channels, an expert, a matrix that adds nothing yet. What a download left out begins and ends at multiples of its own
pieces, which fall on the bounds of a row by chance only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.facts.integrity import ZeroRun
from streamworthy.gguf.scales import checked_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from streamworthy.facts.gguf import HeaderFacts, TensorFacts
    from streamworthy.gguf.range_reading import RangeReader

LEAST_RUN_BYTES = 64 * 2**10  # shorter ones are rows of a sound model as often as not, and no download has such pieces
PAGE_BYTES = 4096
_STEP_BYTES = 2**20
_MOST_FOLLOWED_BYTES = 4 * 2**30  # of one shard: more zeros than that are no model
_EDGE_BLOCKS, _EDGE_BYTES = 2, 64  # weights beside a row of zeros are zero by chance up to here


def zero_pages(raw: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Tell for each whole page of a piece whether all its bytes are zero."""
    import numpy as np

    words = raw[: len(raw) // PAGE_BYTES * PAGE_BYTES].view(np.uint64).reshape(-1, PAGE_BYTES // 8)
    return np.asarray(~words.any(axis=1))


class PageRuns:
    """Collects long runs of zero pages from pieces of a file that come in order."""

    def __init__(self) -> None:
        """Begin at the start of a file."""
        self.found: list[range] = []
        self._open: int | None = None

    def feed(self, offset: int, raw: NDArray[np.uint8]) -> None:
        """Take the next piece; its offset is a multiple of the page size."""
        import numpy as np

        zero = zero_pages(raw)
        edges = np.flatnonzero(np.diff(zero, prepend=self._open is not None)).tolist()
        for page in edges:
            self._turn(offset + page * PAGE_BYTES)
        if len(raw) % PAGE_BYTES and self._open is not None:
            self._turn(offset + len(zero) * PAGE_BYTES)

    def _turn(self, offset: int) -> None:
        if self._open is None:
            self._open = offset
            return
        if offset - self._open >= LEAST_RUN_BYTES:
            self.found.append(range(self._open, offset))
        self._open = None

    def end(self, offset: int) -> list[range]:
        """Give the runs; the file ends at ``offset``."""
        if self._open is not None:
            self._turn(offset)
        return self.found


def follow_runs(reader: RangeReader, header: HeaderFacts, seeds: Iterable[range]) -> tuple[ZeroRun, ...]:
    """Follow ranges that are known to be zero to the ends of their runs; what was never written is left out.

    A hole is a matter of the extents, which find it without reading.
    """
    bounds = range(header.data_start_bytes, min(header.need_bytes, header.file_bytes))
    left = _MOST_FOLLOWED_BYTES
    runs: list[ZeroRun] = []
    end = bounds.start
    for seed in sorted(seeds, key=lambda seed: seed.start):
        if seed.start < end or reader.is_hole(seed.start):
            continue
        stop, whole_stop = _follow(reader, range(seed.stop, min(bounds.stop, seed.stop + left)), bounds.stop)
        start, whole_start = _follow_back(reader, range(max(bounds.start, seed.start - left), seed.start), bounds.start)
        left = max(0, left - (stop - start))
        end = stop
        if stop - start >= LEAST_RUN_BYTES:
            runs.append(_describe(reader, header, range(start, stop), exact=whole_stop and whole_start))
    return tuple(runs)


def _follow(reader: RangeReader, way: range, bound: int) -> tuple[int, bool]:
    """Go on to the first byte that is not zero; tells whether that is where the run ends."""
    import numpy as np

    for offset in way[::_STEP_BYTES]:
        other = np.flatnonzero(reader.read(offset, min(_STEP_BYTES, way.stop - offset)))
        if other.size:
            return offset + int(other[0]), True
    return max(way.start, way.stop), way.stop >= bound


def _follow_back(reader: RangeReader, way: range, bound: int) -> tuple[int, bool]:
    import numpy as np

    for end in range(way.stop, way.start, -_STEP_BYTES):
        start = max(way.start, end - _STEP_BYTES)
        other = np.flatnonzero(reader.read(start, end - start))
        if other.size:
            return start + int(other[-1]) + 1, True
    return min(way.start, way.stop), way.start <= bound


def _describe(reader: RangeReader, header: HeaderFacts, run: range, *, exact: bool) -> ZeroRun:
    touched = list(_touched(header, run))
    matrices = [(tensor, place) for tensor, place in touched if tensor.elements > tensor.dims[0]]
    whole = [place for _, place in matrices if run.start <= place.start and place.stop <= run.stop]
    return ZeroRun(
        path=reader.path,
        offset_bytes=run.start,
        size_bytes=len(run),
        exact=exact,
        tensor=touched[0][0].name if touched else "",
        inside_row=any(_inside_row(tensor, place, edge) for tensor, place in touched for edge in (run.start, run.stop)),
        touched_count=len(matrices),
        whole_count=len(whole),
    )


def _touched(header: HeaderFacts, run: range) -> Iterator[tuple[TensorFacts, range]]:
    """Give the tensors that a run covers more of than chance does, with their places."""
    for tensor in header.tensors:
        start = header.data_start_bytes + tensor.offset_bytes
        place = range(start, min(start + tensor.size_bytes, header.file_bytes))
        if min(place.stop, run.stop) - max(place.start, run.start) > min(_edge(tensor), len(place) // 2):
            yield tensor, place


def _edge(tensor: TensorFacts) -> int:
    kind = checked_type(tensor.type_name)
    return max(_EDGE_BYTES, _EDGE_BLOCKS * kind.block_bytes if kind else 0)


def _inside_row(tensor: TensorFacts, place: range, edge: int) -> bool:
    kind = checked_type(tensor.type_name)
    if kind is None or not place.start < edge < place.stop:
        return False
    row_bytes = kind.row_bytes(tensor.dims[0])
    into = (edge - place.start) % row_bytes
    return min(into, row_bytes - into) > _edge(tensor)
