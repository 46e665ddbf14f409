"""Cuts a file that is read in pieces into the data of its tensors."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamworthy.facts.gguf import HeaderFacts, TensorFacts


class TensorCutter:
    """Takes a file's pieces in order and gives the parts of tensors in them, in the order of the file."""

    def __init__(self, header: HeaderFacts) -> None:
        """Begin at the start of the file."""
        self._start = header.data_start_bytes
        self._waiting = deque(sorted(header.tensors, key=lambda tensor: tensor.offset_bytes))
        self._offset = 0

    def cut(self, piece: memoryview) -> Iterator[tuple[TensorFacts, int, memoryview]]:
        """Give tensor, place in the file and bytes of each part of the next piece."""
        offset, self._offset = self._offset, self._offset + len(piece)
        while self._waiting:
            tensor = self._waiting[0]
            start = self._start + tensor.offset_bytes
            stop = start + tensor.size_bytes
            part = piece[max(0, start - offset) : max(0, stop - offset)]
            if part:
                yield tensor, max(offset, start), part
            if stop > self._offset:
                return
            self._waiting.popleft()
