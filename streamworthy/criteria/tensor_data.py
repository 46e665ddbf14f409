"""What is said of damage in tensor data: floats that are no numbers, and zeros where weights should be. Pure.

Zeros alone are no fault. Unused tokens, pruned channels and experts, biases and matrices that a merge set to zero are
zero in sound models, as whole rows, and the engine computes with them. Two things no sound model has: a run of zeros
that begins or ends in the middle of a row, since weights are made row by row and a download's pieces are not; and
matrices that follow each other in the file and are all zero. A single matrix of zeros is worth a look.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from streamworthy.units import format_bytes, format_share

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from streamworthy.facts.integrity import BrokenTensor, TensorScan, ZeroRun

_SMALL_RUN_BYTES = 2**20  # the length whose chance is told
_SMALL_SHARE = 0.01


def is_torn(run: ZeroRun) -> bool:
    """Tell whether a run of zeros is what was never written, and not weights."""
    return run.inside_row or not run.exact or (run.whole_count > 0 and run.touched_count > 1)


def is_zero_matrix(run: ZeroRun) -> bool:
    """Tell whether a run of zeros is one whole matrix."""
    return run.whole_count == 1 and not is_torn(run)


def tell_broken(tensor: BrokenTensor) -> str:
    """Say which tensor is broken, how much of it, and where."""
    return (
        f"{tensor.path.name}: {tensor.name} ({tensor.type_name}): {tensor.broken_count} of {tensor.looked_count} blocks"
        f" looked at hold NaN or infinity, the first at byte {tensor.first_offset_bytes}"
    )


def tell_torn(run: ZeroRun) -> str:
    """Say where zeros stand in the place of weights."""
    size = f"{'' if run.exact else 'more than '}{format_bytes(run.size_bytes)}"
    place = f"in {run.tensor}" if run.touched_count < 2 else f"over {run.touched_count} matrices from {run.tensor} on"  # noqa: PLR2004 - one or several
    return f"{run.path.name}: {size} of zeros {place}, from byte {run.offset_bytes}: allocated and never downloaded?"


def tell_zero_matrix(run: ZeroRun) -> str:
    """Say which matrix is zero."""
    return f"{run.path.name}: {run.tensor} is zero as a whole ({format_bytes(run.size_bytes)})"


def how_to_mend(paths: Iterable[str]) -> Iterator[str]:
    """Give the lines that tell a bad copy from a bad upload."""
    for path in dict.fromkeys(paths):
        yield f"streamworthy verify {shlex.quote(path)}    # is it the publisher's file? if not: download it again"
    yield "where the hash agrees, the upload itself is broken: take another quantisation of the model"


def coverage(scan: TensorScan) -> str:
    """Say how much was looked at: ``0.1 % of 363.2 GiB``."""
    if scan.place_count is None:
        return f"all {format_bytes(scan.looked_bytes)}"
    return f"{format_share(scan.looked_bytes / max(1, scan.tensor_bytes))} of {format_bytes(scan.tensor_bytes)}"


def scan_evidence(scan: TensorScan) -> Iterator[str]:
    """Give the notes on a scan: coverage, what it finds, and zeros that are no fault."""
    where = "" if scan.place_count is None else f" in {scan.place_count} places, every tensor"
    yield f"coverage={coverage(scan)}{where}"
    if scan.place_count is not None:
        yield f"finds={_chances(scan)}; --depth full reads everything"
    for run in scan.zero_runs:
        if not run.whole_count and not is_torn(run):
            size = format_bytes(run.size_bytes)
            yield f"zeros={run.path.name}: {size} of zero rows in {run.tensor}: unused or pruned"
    if scan.unchecked:
        yield f"unchecked={', '.join(scan.unchecked)}"
    yield from (f"unread={line}" for line in scan.unread)


def _chances(scan: TensorScan) -> str:
    blocks = scan.least_blocks_count or 0
    found = 1 - (1 - _SMALL_SHARE) ** blocks
    told = f"{format_share(_SMALL_SHARE)} of a tensor's blocks broken here and there, in {format_share(found)} of cases"
    if scan.stride_bytes is None:
        return f"{told}; stopped by its time"
    share = min(1.0, _SMALL_RUN_BYTES / scan.stride_bytes)
    return (
        f"{told}; a damaged run of {format_bytes(2 * scan.stride_bytes)} surely, of {format_bytes(_SMALL_RUN_BYTES)} in"
        f" {format_share(share)}"
    )
