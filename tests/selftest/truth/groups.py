"""Control groups (version 1) as a machine with less memory or a slower disk. Not a test.

Sources: Documentation/admin-guide/cgroup-v1/memory.rst and blkio-controller.rst.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

_HIERARCHIES = Path("/sys/fs/cgroup")
_REPOSITORY = Path(__file__).parents[3]
_ENTER = 'while [ "$1" != -- ]; do echo $$ > "$1/cgroup.procs" || exit; shift; done; shift; exec "$@"'


def has_hierarchy(controller):
    """Tell whether groups of a controller can be made here."""
    return os.geteuid() == 0 and (_HIERARCHIES / controller / "cgroup.procs").exists()


NEEDS_GROUPS = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="making a memory cgroup needs root"),
    pytest.mark.skipif(
        os.geteuid() == 0 and not has_hierarchy("memory"), reason="needs the version 1 memory hierarchy"
    ),
]


@contextmanager
def control_group(controller, **settings):
    """Make a control group with these settings (``_`` for the dot of ``memory.x``); all in it end with it."""
    folder = _HIERARCHIES / controller / f"streamworthy-test-{os.getpid()}"
    try:
        folder.mkdir()
        for name, value in settings.items():
            (folder / f"{controller}.{name}").write_text(str(value))
        yield folder
    finally:
        _remove(folder)


def memory_group(limit_bytes):
    """Make a control group with so much memory."""
    return control_group("memory", limit_in_bytes=limit_bytes)


def _remove(folder):
    """End who is left in a group, and remove it; pages of ended processes are given back a moment later."""
    for _ in range(100):
        with suppress(OSError):
            for pid in (folder / "cgroup.procs").read_text().split():
                os.kill(int(pid), signal.SIGKILL)
        with suppress(OSError):
            folder.rmdir()
        if not folder.exists():
            return
        time.sleep(0.1)
    folder.rmdir()  # says why not


def entering(*folders):
    """Give the beginning of a command that runs inside of these groups from its start on."""
    return ["sh", "-c", _ENTER, "sh", *map(str, folders), "--"]


def run_in_group(folder, command):
    """Run a command inside of a cgroup from its start on and give its standard output; raises when it fails."""
    found = subprocess.run(
        [*entering(folder), *map(str, command)],
        env=os.environ | {"PYTHONPATH": str(_REPOSITORY)},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return found.stdout
