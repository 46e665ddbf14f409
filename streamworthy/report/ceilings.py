"""Token rates that follow from bytes over bandwidth: perfect overlap, no loss, so nothing real is above them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.facts.inspection import Ceilings, DiskCeiling, MemoryCeiling
from streamworthy.facts.tier import ModelBytes
from streamworthy.model import hit_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamworthy.facts.fit import KvFacts
    from streamworthy.facts.gguf import ModelSizes
    from streamworthy.facts.inspection import Bandwidths

HIT_SHARES = (0.0, 0.5, 0.9)
EXAMPLE_DISKS = (1e9, 3e9, 7e9)  # a slow, a PCIe 3 and a PCIe 4 drive, bytes per second
EXAMPLE_MEMORIES = (20e9, 40e9, 80e9)  # one channel, two of DDR4, two of DDR5


def find_ceilings(sizes: ModelSizes, kv: KvFacts | None, bandwidths: Bandwidths) -> Ceilings:
    """Work out the ceilings for bandwidths that are given, and for round examples where one is not."""
    streamed = sizes.routed_bytes_per_token if sizes.expert_count else sizes.bytes_per_token
    disk, memory = bandwidths.disk_bytes_per_second, bandwidths.memory_bytes_per_second
    disks = EXAMPLE_DISKS if disk is None else (disk,)
    memories = EXAMPLE_MEMORIES if memory is None else (memory,)
    context = context_bytes_per_token(kv)
    return Ceilings(
        streamed_bytes_per_token=streamed,
        read_bytes_per_token=sizes.bytes_per_token,
        context_bytes_per_token=context,
        disk=_by_disk(streamed, disks),
        memory=_by_memory(sizes.bytes_per_token, context, kv, memories),
        basis=bandwidths.basis,
    )


def expected_hit_share(sizes: ModelSizes, cached_bytes: int) -> float:
    """Give the hit rate that published runs had with such a cache, 0 below the LRU cliff."""
    model = ModelBytes(
        total_bytes=sizes.total_bytes,
        dense_bytes=sizes.dense_bytes,
        expert_bytes=sizes.expert_bytes,
        expert_count=sizes.expert_count,
        expert_used_count=sizes.expert_used_count,
        slab_bytes=max(sizes.slab_bytes, default=0),
        kv_bytes_per_token=0,
        overhead_bytes=0,
    )
    return hit_share(model, max(0, cached_bytes))


def context_bytes_per_token(kv: KvFacts | None) -> int:
    """Bytes of KV cache that a token reads at the full context; 0 when they are not known.

    With an indexer only the rows that it picks may be read: then its own keys alone are sure.
    """
    if kv is None:
        return 0
    return kv.indexer_bytes or kv.total_bytes


def _by_disk(streamed: int, disks: Sequence[float]) -> tuple[DiskCeiling, ...]:
    return tuple(
        DiskCeiling(hit_share=hit, disk_bytes_per_second=disk, tokens_per_second=disk / max(1.0, streamed * (1 - hit)))
        for hit in HIT_SHARES
        for disk in disks
    )


def _by_memory(read: int, context: int, kv: KvFacts | None, memories: Sequence[float]) -> tuple[MemoryCeiling, ...]:
    depths = [(0, read)]
    if kv is not None and context:
        depths.append((kv.context_tokens, read + context))
    return tuple(
        MemoryCeiling(context_tokens=tokens, memory_bytes_per_second=memory, tokens_per_second=memory / max(1, total))
        for tokens, total in depths
        for memory in memories
    )
