"""Which files a disk is measured with: the model's shards, or a scratch file where they are still to come."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from streamworthy.bench.direct_reads import ALIGNMENT_BYTES
from streamworthy.bench.places import find_slabs, slabs_of_file
from streamworthy.bench.scratch_file import ScratchFile
from streamworthy.errors import ProbeError
from streamworthy.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamworthy.bench.direct_reads import Piece
    from streamworthy.gguf.subject import Subject

_LEAST_BYTES = 16 * 2**20  # fewer come from any cache


class Files:
    """The files and the slabs in them. ``scratch`` gives the folder for a file; ``close`` lets go of it."""

    def __init__(self, subject: Subject, scratch: Callable[[], Path]) -> None:
        """Take what is asked about; nothing is opened or written yet."""
        self._subject = subject
        self._scratch = scratch

    @cached_property
    def paths(self) -> tuple[Path, ...]:
        """What is read. ProbeError when shards are too small to measure with, and a scratch file is not possible."""
        return self._shards if self._file is None else (self._file.path,)

    @cached_property
    def places(self) -> dict[int, list[Piece]]:
        """Where slabs of each of the model's sizes lie."""
        if self._file is None:
            return find_slabs(self._subject)
        sizes = self._subject.sizes
        return slabs_of_file(self._file.path, sizes.slab_bytes if sizes.expert_count else ())

    @cached_property
    def told(self) -> str:
        """Which file stands in for shards, and why; empty where shards are read."""
        if self._file is None:
            return ""
        size = format_bytes(self._file.size_bytes)
        return (
            f"a scratch file of {size}, written just now: the model has no shards yet that a disk can be measured with"
        )

    def close(self) -> None:
        """Let go of the scratch file, if there is one."""
        file = vars(self).pop("_file", None)
        if file is not None:
            file.close()

    @cached_property
    def _shards(self) -> tuple[Path, ...]:
        return tuple(path for path in self._subject.paths if path.stat().st_size >= ALIGNMENT_BYTES)

    @cached_property
    def _file(self) -> ScratchFile | None:
        total = sum(path.stat().st_size for path in self._shards)
        if total >= _LEAST_BYTES:
            return None
        folder, home = self._scratch(), Path(self._subject.listing.folder)
        if folder.stat().st_dev != home.stat().st_dev:
            raise ProbeError(
                f"{self._subject.name}: found {format_bytes(total)} of shards, expected at least "
                f"{format_bytes(_LEAST_BYTES)} to measure a disk with; the scratch folder {folder} is on another one",
                fix=f"--scratch FOLDER on the disk of {home}",
            )
        return ScratchFile(folder)
