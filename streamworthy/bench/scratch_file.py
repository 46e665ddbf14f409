"""A file to measure a disk with where the model has no shards yet: allocated, of random bytes, and without a name.

A file that has lost its name goes with the process that holds it, however that ends. It is reached through
/proc/PID/fd, by children too (proc_pid_fd(5)).
"""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import TYPE_CHECKING

from streamworthy.errors import ProbeError
from streamworthy.probes.sysroot import Sysroot
from streamworthy.units import format_bytes

if TYPE_CHECKING:
    from pathlib import Path

SIZE_BYTES = 2**30
_BLOCK_BYTES = 16 * 2**20
_FREE_RATIO = 2.0  # of the file's size that has to be free: others on the disk go on writing


class ScratchFile:
    """One such file in a folder; its ``path`` can be opened until ``close``."""

    def __init__(self, folder: Path, *, size_bytes: int = SIZE_BYTES) -> None:
        """Write it and drop it from the page cache. ProbeError when there is too little room, or the disk fails."""
        free = shutil.disk_usage(folder).free
        if free < _FREE_RATIO * size_bytes:
            raise ProbeError(
                f"{folder}: found {format_bytes(free)} free, expected {format_bytes(_FREE_RATIO * size_bytes)} for a "
                f"scratch file of {format_bytes(size_bytes)}",
                fix="free some space, or --scratch FOLDER on the same disk",
            )
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 - held until close
        self.path = Sysroot().path(f"proc/{os.getpid()}/fd/{self._file.fileno()}")
        self.size_bytes = size_bytes
        try:
            self._fill()
        except OSError as error:
            self.close()
            raise ProbeError(f"{folder}: a scratch file cannot be written: {error.strerror}") from error

    def _fill(self) -> None:
        descriptor = self._file.fileno()
        os.posix_fallocate(descriptor, 0, self.size_bytes)  # a full disk is found before it is written to
        block = os.urandom(_BLOCK_BYTES)
        for number in range(self.size_bytes // _BLOCK_BYTES):
            view = memoryview(block[number:] + block[:number])  # turned by a byte: nothing is found twice
            while view:
                view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)

    def close(self) -> None:
        """Let go of the file, and with it of its space."""
        self._file.close()
