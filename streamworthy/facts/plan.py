"""What the engine is asked to do: the ``[engine]`` table of a tier."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class EnginePlan:
    """One engine configuration; each wish is verified to have taken effect before a number counts.

    ``lock_bytes``: 0 locks nothing, -1 locks all weights (the engine's own mlock), any other size is locked as an
    anonymous region in the engine child and proved by VmLck.
    """

    context_tokens: int
    prompt_tokens: int
    decode_tokens: int  # per timed episode
    threads: int | None  # None: the machine's physical cores, within affinity and CPU quota
    batch_tokens: int
    ubatch_tokens: int
    mmap: bool
    repack: bool
    lock_bytes: int
    kv_type: str  # "f16", "q8_0", ... for K and V
    swa_full: bool  # keep sliding-window layers' KV for the whole context
    parallel_slots: int
    prompt_cache_bytes: int  # that a server keeps of earlier prompts beside the KV cache
    numa: str  # llama.cpp's modes for several memory nodes: "disabled", "distribute", "isolate", "numactl"


# One conversation on mapped weights with llama.cpp's own batch sizes: assumed where no tier says otherwise.
PLAIN_PLAN = EnginePlan(
    context_tokens=4096,
    prompt_tokens=64,
    decode_tokens=16,
    threads=None,
    batch_tokens=2048,
    ubatch_tokens=512,
    mmap=True,
    repack=False,
    lock_bytes=0,
    kv_type="f16",
    swa_full=False,
    parallel_slots=1,
    prompt_cache_bytes=0,
    numa="disabled",
)
