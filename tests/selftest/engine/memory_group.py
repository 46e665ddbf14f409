"""A memory cgroup (version 1) as a machine with less memory. Not a test."""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

_GROUPS = Path("/sys/fs/cgroup/memory")
_REPOSITORY = Path(__file__).parents[3]

NEEDS_GROUPS = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="making a memory cgroup needs root"),
    pytest.mark.skipif(not (_GROUPS / "cgroup.procs").exists(), reason="needs the version 1 memory hierarchy"),
]


@contextmanager
def memory_group(limit_bytes):
    """Make a cgroup with this limit; it is removed afterwards, whatever happened in it."""
    folder = _GROUPS / f"streamworthy-test-{os.getpid()}"
    folder.mkdir()
    try:
        (folder / "memory.limit_in_bytes").write_text(str(limit_bytes))
        yield folder
    finally:
        for _ in range(100):  # pages of ended processes are given back a moment later
            with suppress(OSError):
                folder.rmdir()
                break
            time.sleep(0.1)


def run_in_group(folder, command):
    """Run a command inside of a cgroup from its start on and give its standard output; raises when it fails."""
    found = subprocess.run(
        ["sh", "-c", 'echo $$ > "$0"; exec "$@"', str(folder / "cgroup.procs"), *map(str, command)],
        env=os.environ | {"PYTHONPATH": str(_REPOSITORY)},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return found.stdout
