"""Physics of a streamed Mixture-of-Experts: bytes that have to move, over the roofs they move through.

Serial model: a token waits for the experts that are not in the page cache, then for memory; page faults do not
overlap with computing. It is a prediction from published rows, not a measurement: 14 GLM-5.2 machines came out at a
median of 0.58 of it, 90 % within a factor of 2.5. ``ceiling_tokens_per_second`` assumes perfect overlap and no loss,
so nothing real is above it. Pure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamworthy.facts.plan import EnginePlan
    from streamworthy.facts.tier import Efficiency, ModelBytes, Reference, Roofs

# Hit rate of a page cache over published GLM-5.2 runs (16 points, mean error 0.05, largest 0.14).
_HIT_SCALE, _HIT_EXPONENT = 3.15, 0.69
# An LRU cache that holds less than one token's experts never hits; up to 1.5 of them it hardly does.
_CLIFF_TOKENS = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What a machine is expected to reach with a model and an engine plan."""

    load_seconds: float
    load_bytes_per_second: float  # all tensors over load_seconds
    first_token_cold_seconds: float  # load included
    first_token_warm_seconds: float
    prefill_tokens_per_second: float
    decode_cold_tokens_per_second: float
    decode_warm_tokens_per_second: float


def routed_bytes(model: ModelBytes) -> float:
    """Bytes of expert weights that one token reads; 0 for a dense model."""
    return model.expert_bytes * model.expert_used_count / model.expert_count if model.expert_count else 0.0


def expert_coverage(model: ModelBytes, tokens: int) -> float:
    """Share of all experts that a batch of tokens needs, routing taken as even: ``1 - (1 - k/N)^tokens``."""
    if not model.expert_count:
        return 1.0
    return 1 - (1 - model.expert_used_count / model.expert_count) ** tokens


def cache_bytes(model: ModelBytes, roofs: Roofs, context_tokens: int) -> float:
    """Memory left for experts once the dense weights, the KV cache and the overhead are in; not below 0."""
    needed = model.dense_bytes + model.kv_bytes_per_token * context_tokens + model.overhead_bytes
    return max(0.0, roofs.available_bytes - needed)


def hit_share(model: ModelBytes, cached_bytes: float) -> float:
    """Share of expert reads served by the page cache, text after text: 0 below the LRU cliff, 1 when all fit."""
    if cached_bytes >= model.expert_bytes:
        return 1.0
    if cached_bytes < _CLIFF_TOKENS * routed_bytes(model):
        return 0.0
    return 1 - math.exp(-_HIT_SCALE * (cached_bytes / model.expert_bytes) ** _HIT_EXPONENT)


def ceiling_tokens_per_second(model: ModelBytes, roofs: Roofs, context_tokens: int) -> float:
    """Rate that no engine exceeds on these roofs: missed experts from the disk and all else from memory at once."""
    routed = routed_bytes(model)
    missed = routed * (1 - hit_share(model, cache_bytes(model, roofs, context_tokens)))
    from_disk = missed / roofs.disk_bytes_per_second
    from_memory = (model.dense_bytes + routed) / roofs.memory_bytes_per_second
    return 1 / max(from_disk, from_memory)


def load_seconds(model: ModelBytes, roofs: Roofs, efficiency: Efficiency, context_tokens: int) -> float:
    """Cold files to a usable context: every byte read once (the engine populates its map), the KV cache cleared."""
    read = model.total_bytes / (roofs.disk_bytes_per_second * efficiency.load_share)
    cleared = model.kv_bytes_per_token * context_tokens / (roofs.memory_bytes_per_second * efficiency.memory_share)
    return efficiency.start_seconds + read + cleared


def prefill_seconds(
    model: ModelBytes, roofs: Roofs, efficiency: Efficiency, plan: EnginePlan, *, evicted: bool
) -> float:
    """Time for the plan's prompt; ``evicted`` when no weight is in memory before it.

    A sweep over more experts than the cache holds never hits, warm or not, in each physical batch anew.
    """
    cached = cache_bytes(model, roofs, plan.context_tokens)
    from_disk = model.dense_bytes if evicted else 0.0
    moved = 0.0
    for tokens in _batches(plan.prompt_tokens, plan.ubatch_tokens):
        swept = model.expert_bytes * expert_coverage(model, tokens)
        moved += model.dense_bytes + swept
        if swept > cached or evicted:
            from_disk += swept
    computed = plan.prompt_tokens / roofs.prompt_tokens_per_second
    return _serial_seconds(from_disk, moved, roofs, efficiency, computed_seconds=computed)


def decode_seconds(
    model: ModelBytes, roofs: Roofs, efficiency: Efficiency, plan: EnginePlan, *, evicted: bool
) -> float:
    """Time for the plan's decoded tokens; ``evicted`` when no weight is in memory before the first.

    From an empty cache a token hits only what the tokens before it have read, and never more than a full one gives.
    """
    tokens = plan.decode_tokens
    routed = routed_bytes(model) * tokens
    missed = routed * (1 - hit_share(model, cache_bytes(model, roofs, plan.context_tokens)))
    if evicted:
        first_reads = min(routed, model.expert_bytes * expert_coverage(model, tokens))
        missed = model.dense_bytes + max(missed, first_reads)
    return _serial_seconds(missed, model.dense_bytes * tokens + routed, roofs, efficiency, computed_seconds=0.0)


def predict(reference: Reference, plan: EnginePlan) -> Prediction:
    """Predict what a reference machine reaches with its reference model."""
    model, roofs, efficiency = reference.model, reference.roofs, reference.efficiency
    load = load_seconds(model, roofs, efficiency, plan.context_tokens)
    fits = cache_bytes(model, roofs, plan.context_tokens) >= model.expert_bytes  # then the load leaves it resident
    warm_prompt = prefill_seconds(model, roofs, efficiency, plan, evicted=False)
    cold, warm = (decode_seconds(model, roofs, efficiency, plan, evicted=evicted) for evicted in (True, False))
    return Prediction(
        load_seconds=load,
        load_bytes_per_second=model.total_bytes / load,
        first_token_cold_seconds=load + prefill_seconds(model, roofs, efficiency, plan, evicted=not fits),
        first_token_warm_seconds=warm_prompt,
        prefill_tokens_per_second=plan.prompt_tokens / warm_prompt,
        decode_cold_tokens_per_second=plan.decode_tokens / cold,
        decode_warm_tokens_per_second=plan.decode_tokens / warm,
    )


def _batches(tokens: int, limit: int) -> list[int]:
    return [min(limit, tokens - start) for start in range(0, tokens, limit)]


def _serial_seconds(
    from_disk: float, moved: float, roofs: Roofs, efficiency: Efficiency, *, computed_seconds: float
) -> float:
    disk = from_disk * efficiency.read_amplification_ratio / (roofs.disk_bytes_per_second * efficiency.mmap_share)
    memory = moved / (roofs.memory_bytes_per_second * efficiency.memory_share)
    return (disk + max(memory, computed_seconds)) / efficiency.serial_share
