"""Captured machines for tests: from a few files, or a sound one with one named change."""

from __future__ import annotations

import shutil
from pathlib import Path

from streamworthy.probes.sysroot import Sysroot

MACHINES = Path(__file__).parents[3] / "fixtures" / "machines"


def machine_of(root, files, answers='[uname]\nmachine = "x86_64"\n'):
    """Write a machine of these files (name to text) and open it."""
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (root / "machine.toml").write_text(answers)
    return Sysroot(root)


def changed(root, name, files):
    """Copy a captured machine with some files changed (text) or left out (None), and open it."""
    copy = root / name
    shutil.copytree(MACHINES / name, copy, symlinks=True)
    for file, text in files.items():
        (copy / file).unlink(missing_ok=True)
        if text is not None:
            (copy / file).parent.mkdir(parents=True, exist_ok=True)
            (copy / file).write_text(text)
    return Sysroot(copy)


def captured(name):
    """Open a captured machine as it is."""
    return Sysroot(MACHINES / name)
