"""Small captured machines, made from named files and links."""

from __future__ import annotations

import os
from pathlib import Path

from streamworthy.probes.sysroot import Sysroot

MACHINES = Path(__file__).parents[3] / "fixtures" / "machines"


def machine(name):
    """Open a shipped captured machine."""
    return Sysroot(MACHINES / name)


def tree(folder, *, files=None, links=None, answers=""):
    """Write a captured machine: paths without a leading slash; links lead from path to path."""
    for path, text in {"machine.toml": answers, **(files or {})}.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    for path, goal in (links or {}).items():
        link = folder / path
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(folder / goal, link.parent))
    return Sysroot(folder)


def disk(path, number, **attributes):
    """Give the files of a disk or partition below sys/devices; ``queue__rotational`` is ``queue/rotational``."""
    texts = {"dev": f"{number}\n", "size": "2048\n"} | {
        key.replace("__", "/"): f"{text}\n" for key, text in attributes.items()
    }
    return {f"{path}/{key}": text for key, text in texts.items()}


def numbered(*devices):
    """Give the links by which sysfs finds devices, from (path, number)."""
    links = {f"sys/dev/block/{number}": path for path, number in devices}
    return links | {f"sys/class/block/{path.rpartition('/')[2]}": path for path, _ in devices}
