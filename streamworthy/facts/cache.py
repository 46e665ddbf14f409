"""What the page cache holds of a model, and what was done about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamworthy.facts.episode import Residency
    from streamworthy.facts.memory import MemlockFacts
    from streamworthy.facts.tensor_kinds import TensorKind


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeResidency:
    """What the page cache holds of one range of a file; a page at its edge counts by the part that is inside."""

    resident_bytes: int
    total_bytes: int
    evicted_bytes: int | None  # dropped recently enough that memory was too small for it; None: only cachestat tells


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardCache:
    """One file."""

    name: str
    whole: RangeResidency
    method: str  # "cachestat", "mincore" or "nowait sample"


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerCache:
    """One layer: what every token reads of it, and its experts; None where it has no such tensors."""

    layer: int
    every_token: RangeResidency | None
    experts: RangeResidency | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheMap:
    """The residency of a set of files. Kinds and layers are empty when the layout of the files is not known."""

    shards: tuple[ShardCache, ...]
    kinds: tuple[tuple[TensorKind, RangeResidency], ...]
    layers: tuple[LayerCache, ...]
    layout_unknown: str  # why there are no kinds and layers; empty when there are
    sampled: bool  # some of the numbers are estimates from a sample of pages


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmUp:
    """What warming did: bytes wanted in the cache, those found there before, read now, and found there after."""

    wanted_bytes: int
    before_bytes: int
    read_bytes: int
    after_bytes: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """What locking did, as seen while the pages were held."""

    wanted_bytes: int  # the dense tensors, in whole pages
    held_bytes: int  # of them mapped and locked
    limit_bytes: int | None  # what this process may lock; None: no limit
    locked_before: MemlockFacts
    locked_after: MemlockFacts
    before: Residency  # of the dense tensors
    after: Residency
