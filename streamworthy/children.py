"""How this suite starts parts of itself in processes of their own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import streamworthy


def module_command(module: str, *arguments: object) -> list[str]:
    """Give the command that runs a module of this library with this interpreter."""
    return [sys.executable, "-P", "-m", module, *map(str, arguments)]


def child_environment() -> dict[str, str]:
    """Give an environment in which a child finds the library where this process has it from."""
    library = str(Path(streamworthy.__file__).parents[1])
    path = os.pathsep.join(filter(None, (library, os.environ.get("PYTHONPATH", ""))))
    return os.environ | {"PYTHONPATH": path}
