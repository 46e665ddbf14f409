"""Whether a filesystem gives the room for the shards that are still missing: quotas do not show in statvfs(3).

It is asked for with fallocate(2) in a file without a name (open(2), O_TMPFILE, since Linux 3.11), which is gone when it
is closed, whatever ends this process. posix_fallocate(3) would write zeros where the filesystem cannot allocate.
"""

from __future__ import annotations

import ctypes
import errno
import os
from typing import TYPE_CHECKING

from streamworthy.facts.storage import Allocation
from streamworthy.probes.captured import optional_table, take

if TYPE_CHECKING:
    from streamworthy.facts.storage import VolumesFacts
    from streamworthy.probes.sysroot import Sysroot

_KEEP_SIZE = 1  # FALLOC_FL_KEEP_SIZE: no file size limit is in the way
_REFUSALS = (errno.EDQUOT, errno.ENOSPC)


def probe_allocation(root: Sysroot, facts: VolumesFacts) -> Allocation:
    """Ask for the missing bytes in the model's folder and give them back at once.

    Nothing is asked where statvfs already says too little, and where the filesystem or its rights do not allow it.
    """
    if not root.live:
        return _captured(root, facts.folder)
    size, error, reason = facts.missing_bytes, 0, _why_not(facts)
    if not reason:
        error = allocate(facts.folder, size)
        if error and error not in _REFUSALS:
            reason = f"it cannot be tried in the model's folder: {os.strerror(error)}"
    found = Allocation(
        folder=facts.folder,
        size_bytes=0 if reason else size,
        error=errno.errorcode[error] if error and not reason else "",
        not_asked=reason,
    )
    root.note("allocation", {"size_bytes": found.size_bytes, "error": found.error, "not_asked": reason})
    return found


def _why_not(facts: VolumesFacts) -> str:
    home = next((volume for volume in facts.volumes if volume.mount.mount_point == facts.home), None)
    if not any(volume.shards for volume in facts.volumes):
        return "no shard is there yet"
    if not facts.missing_bytes or home is None:
        return "no shard is missing"
    if not home.leaves:  # tmpfs would give pages of memory, and take them from everything else
        return "no disk of this machine lies below it"
    enough = home.space is not None and home.space.available_bytes >= facts.missing_bytes
    return "" if enough else "statvfs tells no room for what is missing"


def allocate(folder: str, size_bytes: int) -> int:
    """Allocate so much in a nameless file and give it back; gives the error's number, 0 when all went well."""
    try:
        descriptor = os.open(folder, os.O_RDWR | os.O_CLOEXEC | os.O_TMPFILE, 0o600)
    except OSError as error:
        return error.errno or errno.EIO
    except AttributeError:  # no O_TMPFILE: not Linux
        return errno.EOPNOTSUPP
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        done = libc.fallocate(descriptor, _KEEP_SIZE, ctypes.c_int64(0), ctypes.c_int64(size_bytes))
        return ctypes.get_errno() if done else 0
    finally:
        os.close(descriptor)


def _captured(root: Sysroot, folder: str) -> Allocation:
    answer = optional_table(root, "allocation")
    if not answer:
        return Allocation(folder=folder, size_bytes=0, error="", not_asked="a captured machine cannot be asked")
    return Allocation(
        folder=folder,
        size_bytes=take(root, "allocation", answer, "size_bytes", int),
        error=take(root, "allocation", answer, "error", str),
        not_asked=take(root, "allocation", answer, "not_asked", str),
    )
