"""Standard output that may be lost: `| head` ends, a terminal closes, a disk is full. The report is still written."""

from __future__ import annotations

import os
import sys
from contextlib import suppress


class Screen:
    """Writes to a text file until it fails, and to nowhere from then on."""

    def __init__(self, file):
        self._file = file

    def write(self, text):
        """Write text; its length, as a file gives it."""
        try:
            return self._file.write(text)
        except OSError:
            self._lose()
            return len(text)

    def flush(self):
        """Write what is buffered."""
        try:
            self._file.flush()
        except OSError:
            self._lose()

    def restore(self):
        """Give the file back to those who come after."""
        self.flush()
        sys.stdout = self._file

    def __getattr__(self, name):
        return getattr(self._file, name)

    def _lose(self):
        """Send the rest, what is buffered too, to where writing succeeds."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        with suppress(OSError):
            os.dup2(nowhere, self._file.fileno())
        os.close(nowhere)
