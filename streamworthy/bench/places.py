"""Which bytes of the shards are read: whole stretches, and slabs where the model's experts lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.bench.direct_reads import Piece
from streamworthy.facts.tensor_kinds import TensorKind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from random import Random

    from streamworthy.gguf.subject import Subject

SEQUENTIAL_BYTES = 2**20


def stretches(paths: Sequence[Path], parts: int, limit_bytes: int, chooser: Random) -> list[list[Piece]]:
    """Cut the files, laid end to end, into so many parts and give a stretch of 1 MiB reads from each.

    A stretch has at most ``limit_bytes`` and begins at random within its part.
    """
    every = [(path, number) for path in paths for number in range(path.stat().st_size // SEQUENTIAL_BYTES)]
    size, most = len(every) // parts, max(1, limit_bytes // SEQUENTIAL_BYTES)
    found = []
    for part in range(parts):
        first = part * size + chooser.randrange(max(1, size - most + 1))
        chosen = every[first : min(first + most, (part + 1) * size)]
        found.append(
            [
                Piece(path=path, offset_bytes=number * SEQUENTIAL_BYTES, size_bytes=SEQUENTIAL_BYTES)
                for path, number in chosen
            ]
        )
    return found


def slabs_of_file(path: Path, slab_sizes: Sequence[int]) -> dict[int, list[Piece]]:
    """Cut a file that is no model into slabs of each size."""
    size = path.stat().st_size
    return {
        slab: [Piece(path=path, offset_bytes=number * slab, size_bytes=slab) for number in range(size // slab)]
        for slab in slab_sizes
    }


def find_slabs(subject: Subject) -> dict[int, list[Piece]]:
    """Give each expert's part of each routed tensor that is there, by its size. ProbeError for an unusable model."""
    experts = subject.sizes.expert_count
    found: dict[int, list[Piece]] = {}
    for place in subject.places if experts else ():
        size = place.size_bytes // experts
        if place.kind is not TensorKind.ROUTED or size not in subject.sizes.slab_bytes:  # or a download was cut there
            continue
        slabs = found.setdefault(size, [])
        slabs += [
            Piece(path=place.path, offset_bytes=place.offset_bytes + number * size, size_bytes=size)
            for number in range(experts)
        ]
    return found
