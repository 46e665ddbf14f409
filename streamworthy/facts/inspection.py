"""What the headers of a model and a look at this machine's memory say before anything is measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamworthy.facts.fit import KvFacts, LedgerFacts
    from streamworthy.facts.gguf import ModelSizes
    from streamworthy.facts.shards import SetTotal
    from streamworthy.facts.tensor_kinds import KindSizes


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskCeiling:
    """A token rate that this disk does not let any engine exceed at this hit rate."""

    hit_share: float  # of the streamed bytes, found in the page cache
    disk_bytes_per_second: float
    tokens_per_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCeiling:
    """A token rate that this memory does not let any engine exceed, whatever the disk."""

    context_tokens: int  # already decoded; 0: an empty context
    memory_bytes_per_second: float
    tokens_per_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bandwidths:
    """What ceilings are worked out for."""

    disk_bytes_per_second: float | None  # None: round examples
    memory_bytes_per_second: float | None  # likewise
    basis: str  # whose they are, for the headline; empty: both were given by hand


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceilings:
    """The rates above which nothing real is; a machine has the smaller of its two."""

    streamed_bytes_per_token: int  # what comes from the disk unless cached: routed experts, of a dense model all
    read_bytes_per_token: int  # what passes through memory, at an empty context
    context_bytes_per_token: int  # and in addition at the full context
    disk: tuple[DiskCeiling, ...]  # by hit rate, then by disk
    memory: tuple[MemoryCeiling, ...]  # by context, then by memory
    basis: str  # of Bandwidths


@dataclass(frozen=True, slots=True, kw_only=True)
class Completeness:
    """How much of the set the numbers come from."""

    shards_present: int
    shards_expected: int
    tensors_seen: int
    tensors_expected: int | None  # None: a model that was never split does not say
    absent: tuple[str, ...]  # shards without a file, by name
    unread: tuple[str, ...]  # shards whose header is broken, each with its fault
    short: tuple[str, ...]  # shards shorter than their tensors need, each with how much is there

    @property
    def partial(self) -> bool:
        """Whether sums over tensors are lower bounds."""
        few = self.tensors_expected is not None and self.tensors_seen < self.tensors_expected
        return bool(self.absent or self.unread or few)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """All of it, for one context length and KV type."""

    model: str
    completeness: Completeness
    sizes: ModelSizes
    kinds: tuple[KindSizes, ...]
    total: SetTotal
    kv: KvFacts | None  # None: this architecture's is not known
    kv_unknown: str  # why; empty when it is known
    ledger: LedgerFacts | None  # None: the KV cache or this machine's memory is not known
    ledger_unknown: str
    # what published runs of one model hit with such a cache (model.hit_share, +-0.1); None: no experts, or unknown
    hit_share_prior: float | None
    ceilings: Ceilings
    intermediate_bytes: int  # the model in bf16, from which a product is quantised
