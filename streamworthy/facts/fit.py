"""What a model needs in memory while it runs, line by line."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class KvFacts:
    """The memory of past tokens, as llama.cpp allocates it for one engine configuration."""

    context_tokens: int  # padded as the engine pads it, over all slots
    window_tokens: int  # cells of a sliding-window layer, over all slots; 0 without such layers
    kv_type: str
    full_layer_count: int
    window_layer_count: int
    recurrent_layer_count: int
    full_bytes: int
    window_bytes: int
    indexer_bytes: int  # keys of a sparse-attention indexer
    state_bytes: int  # of recurrent layers: does not grow with the context
    basis: str  # "grouped-query attention", "latent attention, keys only", ...

    @property
    def total_bytes(self) -> int:
        """All of it."""
        return self.full_bytes + self.window_bytes + self.indexer_bytes + self.state_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerLine:
    """One part of what has to be in memory, and where its size comes from."""

    name: str
    size_bytes: int
    basis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerFacts:
    """The parts of the need against what the machine has.

    ``anonymous`` is memory that cannot be dropped; ``dense`` and ``experts`` are pages of the shards.
    ``partial``: shards are missing, so the weights are lower bounds.
    """

    dense: LedgerLine
    experts: LedgerLine
    anonymous: tuple[LedgerLine, ...]
    available_bytes: int
    available_basis: str  # "MemAvailable", or the control group that leaves less
    partial: bool
    held: str  # the wish by which the engine holds all weights in memory; "" where they stay in the files
