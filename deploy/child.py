"""Runs pip in a process group of its own, so that nothing of it stays behind when this program is stopped."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_TICK_SECONDS = 15


def pip_environment(scratch: str) -> dict[str, str]:
    """Give the environment for pip: its scratch folder, nothing that sends packages elsewhere, nothing of a make."""
    unwanted = {"PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PYTHONPATH", "PYTHONHOME", "MAKEFLAGS", "MFLAGS", "MAKELEVEL"}
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    return kept | {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "TMPDIR": scratch}


def run_in_background(
    command: list[str], environment: dict[str, str], log: Path, *, tick: Callable[[], None] | None = None
) -> int:
    """Run a command to its end with its output in ``log``; call ``tick`` every 15 s. Gives the exit code."""
    with log.open("a") as sink:
        child = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, start_new_session=True
        )
        try:
            return _wait(child, tick or (lambda: None))
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGTERM)
                child.wait()


def _wait(child: subprocess.Popen[bytes], tick: Callable[[], None]) -> int:
    while True:
        try:
            return child.wait(_TICK_SECONDS)
        except subprocess.TimeoutExpired:
            tick()
