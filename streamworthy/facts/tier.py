"""What a tier is written for: the machines and models it applies to, and the reference its numbers follow from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Applies:
    """One way in which a tier applies; all conditions that are given have to hold. None: not asked."""

    memory_total_at_least_bytes: float | None
    memory_total_below_bytes: float | None
    model: str | None  # "sample" or "given"
    weights: str | None  # "above_memory" or "below_memory": all tensors against the available memory
    architecture: tuple[str, ...] | None
    weights_at_least_bytes: float | None
    weights_below_bytes: float | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicabilityFacts:
    """What decides which tier applies to this machine and model."""

    memory_total_bytes: int
    memory_available_bytes: int
    model: str  # "sample" or "given"
    weights_bytes: int | None  # all tensors; None: no headers to learn it from (a captured machine without a model)
    architecture: str
    wsl: bool  # the memory is then what Windows gives the guest


@dataclass(frozen=True, slots=True, kw_only=True)
class Roofs:
    """What a machine offers at best, as measured without an engine."""

    disk_bytes_per_second: float  # direct reads of a slab's size at queue depth 8
    memory_bytes_per_second: float  # read-only, all physical cores
    prompt_tokens_per_second: float  # the reference model's prompt on the CPU alone, weights at hand
    available_bytes: float  # memory for everything below: dense weights, KV cache, overhead, then experts


@dataclass(frozen=True, slots=True, kw_only=True)
class Efficiency:
    """How much of its roofs an engine gets; each share is of one."""

    load_share: float  # of the disk, while the whole map is populated in order
    mmap_share: float  # of the disk, by page faults on expert slabs
    memory_share: float  # of the memory bandwidth, experts scattered
    serial_share: float  # of what the serial model predicts, after all of the above
    read_amplification_ratio: float  # bytes read per byte asked for, read-ahead included
    start_seconds: float  # spawn, imports, headers and vocabulary


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelBytes:
    """Where a model's bytes are. A dense model has no experts: ``expert_bytes`` and the counts are 0."""

    total_bytes: float
    dense_bytes: float  # read for every token
    expert_bytes: float  # all experts of all layers
    expert_count: int  # of one layer
    expert_used_count: int  # per token and layer
    slab_bytes: float  # one expert in one tensor: what one router decision reads in one place
    kv_bytes_per_token: float  # of context, with this tier's KV type and window handling
    overhead_bytes: float  # compute buffers, the engine itself and the reserve


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The machine that just meets a tier, and the model its limits are computed for."""

    roofs: Roofs
    efficiency: Efficiency
    model: ModelBytes
    reason: str
