"""Runs a command as another user would: ``enter.py JSON COMMAND``, started by root in a mount namespace. Not a test.

JSON holds ``mounts`` (commands that change what is seen), ``uid`` (None stays root), ``namespace`` (True: root of a
user namespace), ``denied`` (True: under a seccomp filter) and ``open`` (files that everybody has to reach).
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

_CLONE_NEWUSER = 0x10000000  # linux/sched.h


def open_way(path, kept):
    """Make a path reachable for everybody: each closed folder above it is covered by one that holds that way only."""
    for folder in reversed(path.parents):
        if folder not in kept:
            if folder.stat().st_mode & 1:
                continue
            kept[folder] = os.open(folder, os.O_PATH | os.O_DIRECTORY)
            subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "none", folder], check=True)
        inner = path.relative_to(folder).parts[0]
        source = Path(f"/proc/{os.getpid()}/fd/{kept[folder]}/{inner}")
        if source.is_dir() and not (folder / inner).exists():
            (folder / inner).mkdir()
            subprocess.run(["mount", "--no-canonicalize", "--rbind", source, folder / inner], check=True)


def become(uid):
    """Be an ordinary user, with nothing of root's."""
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)


def leave_users():
    """Become root of a user namespace that knows nobody else."""
    uid, gid = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "user namespaces are not permitted")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
    Path("/proc/self/gid_map").write_text(f"0 {gid} 1")


def main(world, command):
    """Change what is seen and who asks, in that order, and run the command."""
    kept = {}
    for path in world["open"]:
        open_way(Path(path), kept)
    for mount in world["mounts"]:
        subprocess.run(mount, check=True)
    if world["uid"] is not None:
        become(world["uid"])
        libc = ctypes.CDLL(None)
        libc.prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: its own files below /proc are its own again
    if world["namespace"]:
        leave_users()
    if world["denied"]:
        from tests.selftest.privilege.denied import deny

        deny()
    os.execvp(command[0], command)  # noqa: S606 - what this program is for


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2:])
