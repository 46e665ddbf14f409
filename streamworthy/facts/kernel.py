"""What is known about the kernel."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFacts:
    """The running Linux kernel."""

    release: str  # "6.1.0-25-amd64", as uname -r prints it
    version: tuple[int, ...]  # (6, 1, 0): the numbers before the first other character
