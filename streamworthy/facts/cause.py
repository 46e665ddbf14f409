"""What can hold an engine back."""

from __future__ import annotations

from enum import StrEnum


class Cause(StrEnum):
    """The one word that a slow number is put down to."""

    DISK = "disk"
    READ_AHEAD = "read-ahead"
    MEMORY_CAPACITY = "memory capacity"
    MEMORY_BANDWIDTH = "memory bandwidth"
    COMPUTE = "compute"
    SWAP = "swap"
    THROTTLING = "throttling"
    OTHER_LOAD = "other load"
    ENGINE_CONFIGURATION = "engine configuration"
    CACHE_DISTURBED = "cache disturbed"
