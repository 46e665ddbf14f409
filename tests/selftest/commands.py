"""Runs the streamworthy command as it is typed. Not a test."""

from __future__ import annotations

import subprocess
import sys


def streamworthy(*arguments):
    """Give exit code, standard output and standard error."""
    done = subprocess.run(
        [sys.executable, "-m", "streamworthy.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr
