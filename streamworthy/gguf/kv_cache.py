"""The size of the KV cache for one engine configuration, as llama.cpp allocates it.

Source: llama-context.cpp (padding, slots), llama-kv-cache.cpp, llama-kv-cache-iswa.cpp, llama-memory-recurrent.cpp of
llama.cpp, July 2026; compared with the sizes that the engine logs (tests/selftest/gguf/test_kv_cache_engine.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.errors import ProbeError
from streamworthy.facts.fit import KvFacts
from streamworthy.gguf.attention import AttentionShape, LayerMemory, read_attention
from streamworthy.gguf.tensor_types import TensorType, type_named

if TYPE_CHECKING:
    from streamworthy.facts.plan import EnginePlan
    from streamworthy.gguf.metadata import Metadata

_PAD = 256  # GGML_PAD of n_ctx, of n_ctx_seq and of a window's cells
_STATE_BYTES = 4  # recurrent states are float32 whatever the KV type


def measure_kv(metadata: Metadata, plan: EnginePlan) -> KvFacts:
    """Work out the KV cache of a model under a plan. ProbeError when the architecture or the KV type is unknown."""
    shape = read_attention(metadata)
    kind = _kv_type(plan)
    slots = max(1, plan.parallel_slots)
    slot_tokens = padded_context(metadata, plan) // slots
    window_tokens = _window_cells(shape, plan, slot_tokens)
    full = [layer for layer in shape.layers if layer.kind == "full"]
    window = [layer for layer in shape.layers if layer.kind == "window"]
    recurrent = sum(layer.kind == "recurrent" for layer in shape.layers)
    return KvFacts(
        context_tokens=slot_tokens * slots,
        window_tokens=window_tokens * slots if window else 0,
        kv_type=plan.kv_type,
        full_layer_count=len(full),
        window_layer_count=len(window),
        recurrent_layer_count=recurrent,
        full_bytes=sum(_token_bytes(layer, kind, metadata.name) for layer in full) * slot_tokens * slots,
        window_bytes=sum(_token_bytes(layer, kind, metadata.name) for layer in window) * window_tokens * slots,
        indexer_bytes=sum(_row_bytes(layer.indexer_width, kind, metadata.name) for layer in full) * slot_tokens * slots,
        state_bytes=recurrent * shape.state_width * _STATE_BYTES * slots,
        basis=shape.basis,
    )


def padded_context(metadata: Metadata, plan: EnginePlan) -> int:
    """Give the tokens of context over all slots, as the engine pads them; 0 asks for what the model was trained on."""
    asked = plan.context_tokens or metadata.number("context_length")
    slots = max(1, plan.parallel_slots)
    return _pad(_pad(asked) // slots) * slots if slots > 1 else _pad(asked)


def effective_ubatch(plan: EnginePlan) -> int:
    """Give the tokens of one compute pass: the engine takes the least of context, batch and micro-batch."""
    batch = min(plan.batch_tokens, plan.context_tokens) if plan.context_tokens else plan.batch_tokens
    return min(batch, plan.ubatch_tokens or batch)


def _pad(tokens: int) -> int:
    return -(-tokens // _PAD) * _PAD


def _window_cells(shape: AttentionShape, plan: EnginePlan, slot_tokens: int) -> int:
    if plan.swa_full:
        return slot_tokens
    return _pad(min(slot_tokens, shape.window_tokens + effective_ubatch(plan)))


def _kv_type(plan: EnginePlan) -> TensorType:
    kind = type_named(plan.kv_type)
    if kind is None:
        raise ProbeError(
            f"[engine] kv_type: found '{plan.kv_type}', expected a type of ggml such as f16 or q8_0",
            fix='kv_type = "f16"',
        )
    return kind


def _token_bytes(layer: LayerMemory, kind: TensorType, name: str) -> int:
    return _row_bytes(layer.key_width, kind, name) + _row_bytes(layer.value_width, kind, name)


def _row_bytes(width: int, kind: TensorType, name: str) -> int:
    if width % kind.block_weights:
        raise ProbeError(
            f"{name}: the KV cache cannot be {kind.name}: found rows of {width}, expected multiples of"
            f" {kind.block_weights}",
            fix='kv_type = "f16"',
        )
    return kind.row_bytes(width)
