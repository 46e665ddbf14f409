"""Reads ranges of a file here and there, and leaves the page cache as it was.

A cold file is read with O_DIRECT, a cached one through the cache. Where O_DIRECT is refused, no read-ahead is asked for
and the pages that were read are dropped again.
"""

from __future__ import annotations

import mmap
import os
from typing import TYPE_CHECKING

from streamworthy.bench.direct_reads import Piece
from streamworthy.bench.evict import COLD_SHARE
from streamworthy.closing import Closing
from streamworthy.errors import ProbeError
from streamworthy.gguf.cursor import unreadable
from streamworthy.gguf.hash_reading import open_past_cache, resident_share

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray


class RangeReader(Closing):
    """An open file; ``read`` may be called from several threads. ProbeError when it cannot be opened."""

    def __init__(self, path: Path) -> None:
        """Open a file."""
        self.path = path
        share = resident_share(path)
        try:
            self.descriptor, self._direct = open_past_cache(path, share)
        except OSError as error:
            raise unreadable(path, error) from error
        self._drop = not self._direct and share is not None and share <= COLD_SHARE
        if not self._direct and hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self.descriptor, 0, 0, os.POSIX_FADV_RANDOM)

    def close(self) -> None:
        """Close the file."""
        os.close(self.descriptor)

    def read(self, offset: int, size: int) -> NDArray[np.uint8]:
        """Give the bytes of a range that lies inside of the file. ProbeError when they cannot be read."""
        import numpy as np

        piece = Piece(path=self.path, offset_bytes=offset, size_bytes=size)
        first = piece.aligned_offset_bytes
        buffer = mmap.mmap(-1, piece.aligned_bytes)  # page-aligned, as O_DIRECT asks
        try:
            got = os.preadv(self.descriptor, [buffer], first)
        except OSError as error:
            raise unreadable(self.path, error) from error
        if self._drop:
            os.posix_fadvise(self.descriptor, first, piece.aligned_bytes, os.POSIX_FADV_DONTNEED)
        if got < offset + size - first:
            raise ProbeError(
                f"{self.path}: became shorter while it was read", fix="wait until the download is complete"
            )
        return np.frombuffer(buffer, np.uint8)[offset - first :][:size]

    def is_hole(self, offset: int) -> bool:
        """Tell whether a place was never written (lseek(2), SEEK_DATA); False where a filesystem cannot tell."""
        if not hasattr(os, "SEEK_DATA"):
            return False
        try:
            return os.lseek(self.descriptor, offset, os.SEEK_DATA) != offset
        except OSError:  # ENXIO: no data from here on
            return True
