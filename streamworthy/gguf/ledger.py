"""What a model needs in memory under an engine plan, line by line, each with where its size comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.errors import ProbeError
from streamworthy.facts.fit import KvFacts, LedgerFacts, LedgerLine
from streamworthy.gguf.kv_cache import effective_ubatch, measure_kv
from streamworthy.units import format_counted

if TYPE_CHECKING:
    from streamworthy.facts.gguf import ModelSizes
    from streamworthy.facts.memory import MemoryFacts
    from streamworthy.facts.plan import EnginePlan
    from streamworthy.gguf.metadata import Metadata

_FLOAT_BYTES = 4
_MASK_BYTES = 2  # one float16 for each token of a micro-batch and of the context
_INDEXER_BYTES = 6  # a score in float32 and a mask in float16, likewise
# Six architectures in 52 configurations, from toys to the shapes of a 671B model, logged 0.43 to 0.96 of the estimate.
_COMPUTE_MARGIN = 1.15
_COMPUTE_FLOOR_BYTES = 2**20
_ENGINE_BYTES = 200 * 2**20  # the interpreter, llama.cpp's libraries and thread stacks: 40 MiB seen, and room
_VOCABULARY_RATIO = 12  # memory of the tokenizer over the bytes of the header: 9.8 seen with 49,000 tokens


def draw_ledger(
    metadata: Metadata, sizes: ModelSizes, plan: EnginePlan, memory: MemoryFacts, *, header_bytes: int
) -> LedgerFacts:
    """Put the need in lines beside the available memory. ProbeError when what is available is not known."""
    available = memory.working_available_bytes
    if available is None:
        raise ProbeError("available memory: neither the kernel nor the control group's counters tell what is left")
    dense = sizes.total_bytes - sizes.expert_bytes - sizes.unused_bytes
    return LedgerFacts(
        dense=LedgerLine(name="dense weights", size_bytes=dense, basis="headers: all but routed experts"),
        experts=LedgerLine(name="expert weights", size_bytes=sizes.expert_bytes, basis="headers: tensors *_exps"),
        anonymous=_anonymous(metadata, sizes, measure_kv(metadata, plan), plan, header_bytes),
        available_bytes=available,
        available_basis=_basis(memory, available),
        partial=sizes.partial,
        held=_held(plan),
    )


def _held(plan: EnginePlan) -> str:
    if plan.repack:
        return "repack = true copies the weights into the engine's own memory"
    if not plan.mmap:
        return "mmap = false reads the weights into the engine's own memory"
    return 'lock = "weights" keeps all weights in memory' if plan.lock_bytes < 0 else ""


def _anonymous(
    metadata: Metadata, sizes: ModelSizes, kv: KvFacts, plan: EnginePlan, header_bytes: int
) -> tuple[LedgerLine, ...]:
    context = f"{kv.context_tokens} tokens, {format_counted(plan.parallel_slots, 'slot')}, {kv.kv_type}: {kv.basis}"
    lines = [
        LedgerLine(name="KV cache", size_bytes=kv.total_bytes, basis=context),
        LedgerLine(
            name="compute buffers",
            size_bytes=estimate_compute_bytes(metadata, sizes, kv, plan),
            basis=f"estimate for micro-batches of {effective_ubatch(plan)} tokens",
        ),
        LedgerLine(
            name="engine and tokenizer",
            size_bytes=_ENGINE_BYTES + _VOCABULARY_RATIO * header_bytes,
            basis="estimate: 200 MiB and 12 times the header",
        ),
    ]
    if plan.prompt_cache_bytes:
        basis = "[engine] prompt_cache: earlier prompts that a server keeps"
        lines.append(LedgerLine(name="prompt cache", size_bytes=plan.prompt_cache_bytes, basis=basis))
    if plan.lock_bytes > 0:
        lines.append(LedgerLine(name="locked region", size_bytes=plan.lock_bytes, basis="[engine] lock_bytes"))
    return tuple(lines)


def estimate_compute_bytes(metadata: Metadata, sizes: ModelSizes, kv: KvFacts, plan: EnginePlan) -> int:
    """Estimate the engine's compute and output buffers, with flash attention as it is by default on CPUs.

    The largest step of a micro-batch decides, because the others reuse its memory: the logits over the vocabulary
    (exact in the engine's log), or attention and feed-forward beside the masks over the context.
    """
    tokens, slots = effective_ubatch(plan), max(1, plan.parallel_slots)
    beside = 2 * sizes.embedding_length
    logits = (sizes.vocabulary_tokens + beside) * _FLOAT_BYTES
    inner = (max(_feed_forward_width(metadata, sizes), _attention_width(metadata)) + beside) * _FLOAT_BYTES
    indexer = kv.context_tokens * _INDEXER_BYTES if kv.indexer_bytes else 0
    masks = ((kv.context_tokens + kv.window_tokens) * _MASK_BYTES + indexer) // slots
    outputs = slots * sizes.vocabulary_tokens * _FLOAT_BYTES
    return int(tokens * max(logits, inner + masks) * _COMPUTE_MARGIN) + outputs + _COMPUTE_FLOOR_BYTES


def _feed_forward_width(metadata: Metadata, sizes: ModelSizes) -> int:
    layers = metadata.all_layers
    dense = 2 * max(metadata.per_layer("feed_forward_length", layers, 0))
    expert = max(metadata.per_layer("expert_feed_forward_length", layers, 0))
    return max(dense, sizes.expert_used_count * (2 * expert + sizes.embedding_length))


def _attention_width(metadata: Metadata) -> int:
    heads = max(metadata.per_layer("attention.head_count", metadata.all_layers, 0))
    length = metadata.find("attention.key_length") or 0
    return 3 * heads * length  # queries, their rotated copy and the result


def _basis(memory: MemoryFacts, available: int) -> str:
    if memory.bound is not None and available == memory.bound.available_bytes:
        return f"memory nodes {', '.join(map(str, memory.bound.nodes))}"
    if available == memory.claimable_bytes:
        return "MemAvailable" if available == memory.available_bytes else "MemAvailable and what ZFS's cache gives back"
    return next((f"control group {group.path}" for group in memory.groups if group.free_bytes == available), "a limit")
