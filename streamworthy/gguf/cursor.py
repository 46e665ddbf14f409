"""A bounded way through the head of a file: no length is trusted, and nothing that is skipped is kept.

The file is read with pread(2) in windows and not through a memory map: a map of a file that shrinks while it is
read, or that lies on a bad sector or a vanished network mount, ends the whole process with SIGBUS, where pread gives
an error that can be reported. A window costs one copy of at most 1 MiB, less than the page faults of a map would.
"""

from __future__ import annotations

import os
from itertools import repeat
from operator import length_hint
from struct import Struct, error
from typing import TYPE_CHECKING, Any, NoReturn

from streamworthy.errors import ProbeError
from streamworthy.facts.gguf import GgufFault
from streamworthy.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

WINDOW_BYTES = 2**20
U32 = Struct("<I")
U64 = Struct("<Q")

_FINISH = ("finish or repeat the download of this file",)
_MAX_STRING_BYTES = 2**30  # gguf.cpp, GGUF_MAX_STRING_LENGTH
_MAX_STRINGS = (
    2**22
)  # the largest vocabularies have a quarter of a million tokens; 2^22 are walked in a third of a second


class GgufError(ProbeError):
    """A file's header is not what the format says; ``faults`` are all that were found, at least one."""

    def __init__(self, name: str, faults: Sequence[GgufFault]) -> None:
        """Write the first five faults in one line, and all remedies."""
        lines = [fault.line for fault in faults[:5]]
        more = f"; and {len(faults) - 5} more" if len(faults) > 5 else ""  # noqa: PLR2004
        fix = dict.fromkeys(line for fault in faults for line in fault.fix)
        super().__init__(f"{name}: {'; '.join(lines)}{more}", fix="\n".join(fix))
        self.name = name
        self.faults = tuple(faults)


class Broken(Exception):  # noqa: N818 - control flow inside of the reader
    """Reading cannot go on."""

    def __init__(self, fault: GgufFault) -> None:
        """Keep the fault."""
        super().__init__(fault.line)
        self.fault = fault


class Cursor:
    """A position in an open file that only moves forward. ``limit`` is the file's size when it was opened."""

    def __init__(self, descriptor: int, limit: int) -> None:
        """Begin at the file's first byte."""
        self.descriptor = descriptor
        self.limit = limit
        self.position = 0
        self._base = 0
        self._window = b""

    def stop(  # noqa: PLR0913 - a fault is these six things
        self, kind: str, item: str, found: str, expected: str, *, cause: str = "", fix: tuple[str, ...] = ()
    ) -> NoReturn:
        """Give up here with a fault at the current position."""
        raise Broken(
            GgufFault(
                kind=kind, offset_bytes=self.position, item=item, found=found, expected=expected, cause=cause, fix=fix
            )
        )

    def require(self, count: int, item: str) -> None:
        """Make sure that so many bytes follow in the file."""
        left = self.limit - self.position
        if count > left:
            self.stop(
                "truncated",
                item,
                f"the end of the file after {left} bytes",
                f"{count} bytes",
                cause="the download was cut short here, or a length before it is damaged?",
                fix=_FINISH,
            )

    def fill(self, count: int, item: str) -> int:
        """Hold the next ``count`` bytes (at most one window) in memory; give their place in the window."""
        self.require(count, item)
        local = self.position - self._base
        if local > len(self._window) - count:
            self._window = self._pread(max(count, WINDOW_BYTES))
            self._base = self.position
            local = 0
            if len(self._window) < count:
                self.limit = self.position + len(self._window)  # it shrank since it was opened
                self.require(count, item)
        return local

    def _pread(self, count: int) -> bytes:
        return os.pread(self.descriptor, min(count, self.limit - self.position), self.position)

    def take(self, layout: Struct, item: str) -> tuple[Any, ...]:
        """Read values of fixed size."""
        local = self.fill(layout.size, item)
        self.position += layout.size
        return layout.unpack_from(self._window, local)

    def take_bytes(self, count: int, item: str) -> bytes:
        """Read at most one window of bytes."""
        local = self.fill(count, item)
        self.position += count
        return self._window[local : local + count]

    def take_text(self, longest: int, item: str) -> str:
        """Read a text with its length before it. A text is bytes with a length, never ended by a NUL."""
        start = self.position
        (length,) = self.take(U64, f"length of {item}")
        if length > longest:
            self.position = start
            self.stop(
                "count", f"length of {item}", str(length), f"at most {longest}", cause="the file is damaged here?"
            )
        return self.take_bytes(length, item).decode("utf-8", "backslashreplace")

    def skip(self, count: int, item: str) -> None:
        """Go on behind so many bytes, which have to be in the file."""
        self.require(count, item)
        self.position += count

    def skip_texts(self, count: int, item: str) -> None:
        """Walk over so many texts without copying them: a vocabulary has hundreds of thousands."""
        if count > _MAX_STRINGS:
            self.stop(
                "count",
                f"count of {item}",
                str(count),
                f"at most {_MAX_STRINGS} texts",
                cause="the file is damaged here?",
            )
        self.require(8 * count, item)
        while count:
            count -= self._skip_window(count, item)

    def _skip_window(self, count: int, item: str) -> int:
        """Walk over the texts that begin in the window from here on; give how many."""
        local = self.fill(8, item)
        window, unpack = self._window, U64.unpack_from
        length, left, steps = 0, 0, repeat(None, count)
        try:  # the loop that decides how fast headers are read: three operations for each text
            for _ in steps:
                (length,) = unpack(window, local)
                local += length + 8
        except (error, OverflowError):  # the next length lies behind the window
            left = length_hint(steps) + 1
        self.position = self._base + local - length
        if length > _MAX_STRING_BYTES:
            self.position -= 8
            longest = f"at most {format_bytes(_MAX_STRING_BYTES)}"
            self.stop("count", f"length in {item}", str(length), longest, cause="the file is damaged here?")
        self.skip(length, f"a text of {item}")
        return count - left


def unreadable(path: Path, problem: OSError) -> ProbeError:
    """Say that the system does not let a file be read."""
    return ProbeError(
        f"{path}: cannot be read: {problem.strerror or problem}",
        fix=f'look at its permissions and its disk: ls -lL "{path}"',
    )
