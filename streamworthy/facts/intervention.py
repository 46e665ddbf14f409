"""What became of the speed when one thing was changed on purpose."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Change(StrEnum):
    """What was changed for the length of one window of tokens."""

    SAME_TEXT = "the same text again"  # its experts have just been read
    HALF_THREADS = "half the threads"
    NO_READ_AHEAD = "no read-ahead"  # MADV_RANDOM on the engine's own maps
    LESS_MEMORY = "a quarter of the cache taken away"
    HELD = "the dense tensors held"  # locked in memory by another process, as by ``streamworthy cache hold --dense``
    READER = "a competing reader"


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervention:
    """One change, each time against the window of unchanged state directly before it.

    Ratios are changed over unchanged, one a round; empty where the change could not be made, ``refused`` says why.
    """

    change: Change
    rate_ratios: tuple[float, ...]  # of tokens a second
    read_ratios: tuple[float, ...]  # of device bytes a token; empty too where nothing is read
    refused: str
