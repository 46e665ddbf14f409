"""The user's folders, by the environment or by passwd (XDG Base Directory Specification 0.8)."""

from __future__ import annotations

import os
from pathlib import Path


def probe_home() -> Path | None:
    """Give the home folder. None: neither HOME nor an entry in passwd, as for a container's arbitrary user."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def probe_cache_folder() -> Path | None:
    """Give ``$XDG_CACHE_HOME``, by default ``~/.cache``; None without a home."""
    return _folder("XDG_CACHE_HOME", ".cache")


def probe_state_folder() -> Path | None:
    """Give ``$XDG_STATE_HOME``, by default ``~/.local/state``; None without a home."""
    return _folder("XDG_STATE_HOME", ".local/state")


def _folder(variable: str, default: str) -> Path | None:
    base, home = os.environ.get(variable), probe_home()
    if base:
        return Path(base)
    return None if home is None else home / default
