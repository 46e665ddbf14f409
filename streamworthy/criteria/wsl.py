"""What is changed in Windows when a WSL guest lacks something: what is changed in the guest ends with it. Pure."""

from __future__ import annotations

import math

_LEFT_SHARE = 0.96  # of the memory that a guest is given, what its kernel leaves as MemTotal


def configure(setting: str) -> tuple[str, ...]:
    """Give the lines that change what Windows gives a guest."""
    return (
        r"in Windows, in %UserProfile%\.wslconfig, each key on its own line: [wsl2]",
        setting,
        "then in Windows: wsl --shutdown",
    )


def give_memory(need_bytes: float) -> tuple[str, ...]:
    """Give the lines after which a guest has so much memory in all."""
    return configure(f"memory={math.ceil(need_bytes / 2**30 / _LEFT_SHARE)}GB")
