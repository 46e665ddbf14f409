"""How each architecture of llama.cpp remembers: which layers keep all past tokens, a window of them, or a state.

Source: src/models/*.cpp (load_arch_hparams) and llama_model::create_memory of llama.cpp, July 2026. An architecture
that is not named here is unknown: a wrong size would be worse than none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamworthy.errors import ProbeError

if TYPE_CHECKING:
    from streamworthy.gguf.metadata import Metadata

_GROUPED = frozenset(
    {
        "apertus", "arcee", "arctic", "baichuan", "bailingmoe", "bailingmoe2", "bloom", "chatglm", "codeshell",
        "command-r", "dbrx", "deci", "deepseek", "dots1", "ernie4_5", "ernie4_5-moe", "exaone", "falcon", "gemma",
        "glm4", "glm4moe", "gpt2", "gptneox", "granite", "granitemoe", "grok", "grovemoe", "hunyuan-dense",
        "hunyuan-moe", "hy_v3", "internlm2", "jais", "llama", "minicpm", "minimax-m2", "mistral3", "mpt", "nemotron",
        "olmo", "olmoe", "openelm", "orion", "pangu-embedded", "phi2", "phi3", "phimoe", "plamo", "qwen", "qwen2",
        "qwen2moe", "qwen2vl", "qwen3", "qwen3moe", "qwen3vl", "qwen3vlmoe", "refact", "seed_oss", "smollm3",
        "stablelm", "starcoder", "starcoder2", "xverse",
    }
)  # fmt: skip
_LATENT = frozenset({"deepseek2", "mistral4"})
_LATENT_INDEXED = frozenset({"deepseek32", "glm-dsa"})
_HYBRID = frozenset({"qwen3next", "qwen35", "qwen35moe"})
_GLM_5_2_CONTEXT = 2**20  # glm-dsa.cpp tells GLM-5.2, which shares indexers between layers, by its trained context


@dataclass(frozen=True, slots=True, kw_only=True)
class _Windows:
    """Where an architecture has sliding windows.

    Of each ``period`` layers the last is full, or the first where ``full_first``; a file may hold a pattern instead,
    and has to where ``period`` is 0.
    """

    period: int
    full_first: bool = False
    default: int = 0  # the window when the file does not say; 0: then there are no windows
    fixed: int = 0  # the window whatever the file says


_SLIDING = {
    "afmoe": _Windows(period=4),
    "cohere2": _Windows(period=4),
    "cohere2moe": _Windows(period=4, full_first=True),
    "exaone-moe": _Windows(period=4, default=128),
    "gemma2": _Windows(period=2, default=4096),
    "gemma3": _Windows(period=6),
    "gemma3n": _Windows(period=5),
    "gemma4": _Windows(period=0),
    "gpt-oss": _Windows(period=2),
    "granite_swa": _Windows(period=0),
    "laguna": _Windows(period=4, full_first=True),
    "llama4": _Windows(period=4, default=8192, fixed=8192),
    "maple": _Windows(period=0),
    "mellum": _Windows(period=4),
    "mimo2": _Windows(period=0),
    "muse-glimmer": _Windows(period=4),
    "olmo2": _Windows(period=4),
    "plamo3": _Windows(period=8),
    "smallthinker": _Windows(period=4, full_first=True, fixed=4096),
    "spark2_5": _Windows(period=0),
    "step35": _Windows(period=0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerMemory:
    """What one layer keeps of the past, in numbers of weights for each token."""

    kind: str  # "full", "window", "recurrent", or "none" for a layer that reads another's
    key_width: int
    value_width: int  # 0: values are read from the keys (latent attention)
    indexer_width: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionShape:
    """What all layers keep, the window's size, and what a recurrent layer holds in float32."""

    basis: str
    layers: tuple[LayerMemory, ...]
    window_tokens: int  # 0 without sliding windows
    state_width: int


def knows(architecture: str) -> bool:
    """Tell whether an architecture is known here."""
    return architecture in _GROUPED | _LATENT | _LATENT_INDEXED | _HYBRID or architecture in _SLIDING


def groups_heads(architecture: str) -> bool:
    """Tell whether all layers of an architecture have queries of all heads and keys of fewer, and nothing else."""
    return architecture in _GROUPED


def read_attention(metadata: Metadata) -> AttentionShape:
    """Find out how a model remembers. ProbeError for an architecture that is not known here."""
    architecture = metadata.architecture
    if architecture in _GROUPED:
        return _shape(metadata, "grouped-query attention", kinds=("full",) * metadata.layers)
    if architecture in _SLIDING:
        return _read_sliding(metadata, _SLIDING[architecture])
    if architecture in _LATENT | _LATENT_INDEXED:
        return _read_latent(metadata)
    if architecture in _HYBRID:
        return _read_hybrid(metadata)
    raise ProbeError(
        f"{metadata.name}: the memory of past tokens of architecture '{architecture}' is not known to this suite",
        fix="pip install --upgrade streamworthy",
    )


def _shape(
    metadata: Metadata, basis: str, *, kinds: tuple[str, ...], window: int = 0, state_width: int = 0
) -> AttentionShape:
    keys = _widths(metadata, "key_length", kinds)
    values = _widths(metadata, "value_length", kinds)
    layers = tuple(
        LayerMemory(kind=kind, key_width=key, value_width=value, indexer_width=0)
        for kind, key, value in zip(kinds, keys, values, strict=True)
    )
    return AttentionShape(basis=basis, layers=layers, window_tokens=window, state_width=state_width)


def _widths(metadata: Metadata, key: str, kinds: tuple[str, ...]) -> tuple[int, ...]:
    heads = metadata.per_layer("attention.head_count", metadata.all_layers)
    groups = (
        metadata.per_layer("attention.head_count_kv", metadata.all_layers, None) if _has_groups(metadata) else heads
    )
    full = metadata.find(f"attention.{key}") or _embedding_per_head(metadata, heads[0])
    sliding = metadata.find(f"attention.{key}_swa") or full
    return tuple(
        group * (sliding if kind == "window" else full) if kind in ("full", "window") else 0
        for kind, group in zip(kinds, groups, strict=False)
    )


def _has_groups(metadata: Metadata) -> bool:
    return f"{metadata.architecture}.attention.head_count_kv" in metadata.keys


def _embedding_per_head(metadata: Metadata, heads: int) -> int:
    if not heads:
        raise ProbeError(f"{metadata.name}: {metadata.architecture}.attention.head_count: found 0, expected heads")
    return metadata.number("embedding_length") // heads


def _read_sliding(metadata: Metadata, windows: _Windows) -> AttentionShape:
    told = metadata.find("attention.sliding_window")
    window = windows.default if told is None else told
    if window and windows.fixed:
        window = windows.fixed
    layers = metadata.layers
    if not window:
        return _shape(metadata, "grouped-query attention", kinds=("full",) * layers)
    pattern = _pattern(metadata, windows)
    keeping = _keeping_layers(metadata)
    kinds = tuple(("window" if pattern[layer] else "full") if layer < keeping else "none" for layer in range(layers))
    return _shape(metadata, f"grouped-query attention, sliding window of {window}", kinds=kinds, window=window)


def _pattern(metadata: Metadata, windows: _Windows) -> tuple[bool, ...]:
    key = "attention.sliding_window_pattern"
    if metadata.has_array(key) or not windows.period:
        return tuple(bool(one) for one in metadata.per_layer(key, metadata.layers))
    period = metadata.find(key)
    period = windows.period if period is None else period
    full = 0 if windows.full_first else period - 1
    return tuple(period == 0 or layer % period != full for layer in range(metadata.layers))


def _keeping_layers(metadata: Metadata) -> int:
    """Count the layers that keep tokens of their own: the last ones of gemma3n and gemma4 read earlier ones."""
    if metadata.architecture == "gemma3n":
        return 20  # gemma3n.cpp, n_layer_kv_from_start
    if metadata.architecture == "gemma4":
        return metadata.all_layers - (metadata.find("attention.shared_kv_layers") or 0)
    return metadata.all_layers


def _read_latent(metadata: Metadata) -> AttentionShape:
    kinds = ("full",) * metadata.layers
    absorbed = bool(metadata.find("attention.key_length_mla") and metadata.find("attention.value_length_mla"))
    if not absorbed:
        return _shape(
            metadata, "latent attention without absorption, as in quantisations before April 2025", kinds=kinds
        )
    widths = _widths(metadata, "key_length", kinds)
    indexers = _indexer_widths(metadata)
    layers = tuple(
        LayerMemory(kind="full", key_width=width, value_width=0, indexer_width=indexer)
        for width, indexer in zip(widths, indexers, strict=True)
    )
    return AttentionShape(basis="latent attention, keys only", layers=layers, window_tokens=0, state_width=0)


def _indexer_widths(metadata: Metadata) -> tuple[int, ...]:
    layers = metadata.layers
    if metadata.architecture not in _LATENT_INDEXED:
        return (0,) * layers
    width = metadata.number("attention.indexer.key_length")
    if metadata.architecture != "glm-dsa":
        return (width,) * layers
    if f"{metadata.architecture}.attention.indexer.types" in metadata.keys:
        full = metadata.per_layer("attention.indexer.types", layers)
    elif metadata.number("context_length") < _GLM_5_2_CONTEXT:
        full = (1,) * layers
    else:  # two leading layers, then every fourth
        full = tuple(int(layer < 2 or (layer - 2) % 4 == 0) for layer in range(layers))  # noqa: PLR2004
    return tuple(width if own else 0 for own in full)


def _read_hybrid(metadata: Metadata) -> AttentionShape:
    layers = metadata.layers
    interval = metadata.find("full_attention_interval") or 4  # qwen3next.cpp
    key = "attention.recurrent_layers"
    if f"{metadata.architecture}.{key}" in metadata.keys:
        recurrent = tuple(bool(one) for one in metadata.per_layer(key, layers))
    else:
        recurrent = tuple((layer + 1) % interval != 0 for layer in range(layers))
    inner, state = metadata.number("ssm.inner_size"), metadata.number("ssm.state_size")
    convolution = max(0, metadata.number("ssm.conv_kernel") - 1) * (
        inner + 2 * metadata.number("ssm.group_count") * state
    )
    return _shape(
        metadata,
        "grouped-query attention and gated delta nets",
        kinds=tuple("recurrent" if one else "full" for one in recurrent),
        state_width=convolution + state * inner,  # llama-hparams.cpp, n_embd_r and n_embd_s
    )
