"""The shape of the sample model for a wanted size, and the names of its files.

The architecture is llama.cpp's ``qwen3moe``. Shards are named and marked as llama-gguf-split does (``split.no``,
``split.count``, ``split.tensors.count``), so the engine finds all of them from the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamworthy.errors import UsageError
from streamworthy.units import format_bytes

if TYPE_CHECKING:
    from pathlib import Path

FORMAT_VERSION = 1  # part of the seed and of the stored fingerprint: raise it whenever one byte of a sample changes
MINIMUM_SIZE_BYTES = 200 * 10**6
MAXIMUM_SIZE_BYTES = 8 * 10**9
DEFAULT_SIZE_BYTES = 220 * 10**6
DEFAULT_SEED = 20_240_607
CONTEXT_TOKENS = 32_768

_HEAD_DIM = 64
_FF_STEP = 32  # one Q4_0 block: rows of ffn_down hold a whole number of them
_SHARD_COUNT = 6
# Upper end of the sizes, then n_embd, n_expert, n_expert_used: slabs grow with the model, as in real ones.
_SHAPES = ((600 * 10**6, 512, 64, 4), (2_500 * 10**6, 512, 128, 8), (MAXIMUM_SIZE_BYTES, 1024, 128, 8))


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSpec:
    """Everything that decides a sample's bytes. ``size_bytes`` is what was asked, in whole MB; files are near it."""

    size_bytes: int
    seed: int
    n_layer: int
    n_expert: int
    n_expert_used: int
    n_embd: int
    n_ff: int
    n_head: int
    n_head_kv: int
    head_dim: int
    shard_count: int

    @property
    def prefix(self) -> str:
        """The part that the names of all files of this sample share: ``streamworthy-sample-220MB``."""
        return f"streamworthy-sample-{self.size_bytes // 10**6}MB"

    @property
    def shard_names(self) -> tuple[str, ...]:
        """The shards' file names, in order."""
        count = self.shard_count
        return tuple(f"{self.prefix}-{number:05d}-of-{count:05d}.gguf" for number in range(1, count + 1))

    @property
    def slab_bytes(self) -> int:
        """Bytes of one expert in one of its three tensors: what one router decision reads in one place."""
        return q4_0_bytes(self.n_embd * self.n_ff)

    @property
    def routed_bytes_per_token(self) -> int:
        """Bytes of expert weights that one token reads over all layers."""
        return self.n_layer * self.n_expert_used * 3 * self.slab_bytes

    def first_shard(self, folder: Path) -> Path:
        """Where the first shard is in a folder: the path that the engine is given."""
        return folder / self.shard_names[0]


def q4_0_bytes(elements: int) -> int:
    """Bytes of so many weights in Q4_0: 18 for a block of 32 (ggml-common.h, block_q4_0)."""
    return elements // 32 * 18


def spec_for_size(size_bytes: int, *, seed: int = DEFAULT_SEED) -> SampleSpec:
    """Choose the shape whose files are nearest to a size between 200 MB and 8 GB (within 6 %, mostly 3 %).

    Raises UsageError outside of that range.
    """
    if not MINIMUM_SIZE_BYTES <= size_bytes <= MAXIMUM_SIZE_BYTES:
        raise UsageError(
            f"sample size: found {format_bytes(size_bytes)}, expected 200 MB to 8 GB",
            fix="choose a size in that range, or give a real model with --model",
        )
    megabytes = size_bytes // 10**6
    _, n_embd, n_expert, n_expert_used = next(shape for shape in _SHAPES if size_bytes <= shape[0])
    layer_step_bytes = n_expert * 3 * q4_0_bytes(n_embd * _FF_STEP)
    n_layer = max(8, round(size_bytes / (layer_step_bytes * n_embd / _FF_STEP)))
    steps = round((size_bytes - _dense_bytes(n_embd, n_layer)) / (layer_step_bytes * n_layer))
    return SampleSpec(
        size_bytes=megabytes * 10**6,
        seed=seed,
        n_layer=n_layer,
        n_expert=n_expert,
        n_expert_used=n_expert_used,
        n_embd=n_embd,
        n_ff=steps * _FF_STEP,
        n_head=n_embd // _HEAD_DIM,
        n_head_kv=n_embd // _HEAD_DIM // 4,
        head_dim=_HEAD_DIM,
        shard_count=_SHARD_COUNT,
    )


def _dense_bytes(n_embd: int, n_layer: int) -> int:
    attention = n_embd * n_embd * 5 // 2 * 34 // 32  # Q, O and a quarter each of K and V, in Q8_0
    vocabulary = 2 * 2 * 3_000 * n_embd  # embedding and output in F16, about 3,000 tokens
    return n_layer * attention + vocabulary
