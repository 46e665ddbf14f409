"""What a model's keys have to say, and the shapes of its tensors that follow from them.

Source: llama_model::load_hparams and src/models/*.cpp of llama.cpp, July 2026. An expectation is a place in a tensor's
dimensions (innermost first), a size and the key that it comes from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamworthy.errors import ProbeError
from streamworthy.facts.gguf import GgufFault
from streamworthy.gguf.attention import groups_heads, knows
from streamworthy.gguf.tensor_kinds import layer_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from streamworthy.facts.gguf import HeaderFacts
    from streamworthy.gguf.metadata import Metadata

_OTHER = ("take another upload of the model",)
_NEEDED = ("context_length", "embedding_length", "block_count")
_COUNTS = (
    *_NEEDED,
    "vocab_size",
    "expert_count",
    "expert_used_count",
    "expert_feed_forward_length",
    "feed_forward_length",
    "attention.head_count",
    "attention.head_count_kv",
    "attention.key_length",
    "attention.value_length",
)
_ARRAYS = ("attention.head_count", "attention.head_count_kv", "feed_forward_length")  # get_key_or_arr with n_layer
_EPSILONS = ("attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon")
_COUNT_TYPES = ("u32", "arr[u32]", "arr[i32]", "arr[bool]")  # llama_model_loader::get_key and get_key_or_arr
_MOST_EXPERTS = 512  # llama-hparams.h, LLAMA_MAX_EXPERTS
_WIDE, _WORDS = "embedding_length", "vocabulary"
# part of a name below the layer -> place -> key
_BY_KEY = {
    "token_embd.weight": {0: _WIDE, 1: _WORDS},
    "output.weight": {0: _WIDE, 1: _WORDS},
    "output_norm.weight": {0: _WIDE},
    "attn_norm.weight": {0: _WIDE},
    "ffn_norm.weight": {0: _WIDE},
    "post_attention_norm.weight": {0: _WIDE},
    "post_ffw_norm.weight": {0: _WIDE},
    "attn_q.weight": {0: _WIDE},
    "attn_k.weight": {0: _WIDE},
    "attn_v.weight": {0: _WIDE},
    "attn_qkv.weight": {0: _WIDE},
    "attn_output.weight": {1: _WIDE},
    "ffn_up.weight": {0: _WIDE},
    "ffn_gate.weight": {0: _WIDE},
    "ffn_down.weight": {1: _WIDE},
    "ffn_gate_inp.weight": {0: _WIDE, 1: "expert_count"},
    "ffn_gate_exps.weight": {0: _WIDE, 1: "expert_feed_forward_length", 2: "expert_count"},
    "ffn_up_exps.weight": {0: _WIDE, 1: "expert_feed_forward_length", 2: "expert_count"},
    "ffn_down_exps.weight": {0: "expert_feed_forward_length", 1: _WIDE, 2: "expert_count"},
}
_HEADS = {
    "attn_q.weight": (1, "attention.head_count x attention.key_length"),
    "attn_k.weight": (1, "attention.head_count_kv x attention.key_length"),
    "attn_v.weight": (1, "attention.head_count_kv x attention.value_length"),
    "attn_output.weight": (0, "attention.head_count x attention.value_length"),
}
_ROTATED_WHOLE = frozenset({"llama", "deci", "falcon"})  # llama-model.cpp, "invalid n_rot"
_WIDTH_OF_FEED = frozenset({"qwen2moe", "qwen3moe", "qwen3vlmoe"})  # without a width of experts they share that of all


@dataclass(frozen=True, slots=True, kw_only=True)
class Shapes:
    """The sizes that a model's keys ask for; ``heads`` holds the rows of each layer's attention by part of the name."""

    sizes: Mapping[str, int]
    words: str  # the key that tells how many tokens there are
    heads: Mapping[str, tuple[int, ...]]

    def of(self, name: str) -> dict[int, tuple[int, str]]:
        """Give what is expected of a tensor: place to size and key; empty when nothing is."""
        layer, part = layer_of(name), name.split(".", 2)[-1] if name.startswith("blk.") else name
        keys = {place: self.words if key == _WORDS else key for place, key in _BY_KEY.get(part, {}).items()}
        expected = {place: (self.sizes[key], key) for place, key in keys.items() if key in self.sizes}
        rows = self.heads.get(part)
        if rows is not None and layer is not None and layer < len(rows):
            place, key = _HEADS[part]
            expected[place] = (rows[layer], key)
        return expected

    def most_dims(self, name: str) -> int:
        """Give how many dimensions a tensor may use."""
        part = name.split(".", 2)[-1] if name.startswith("blk.") else name
        places = _BY_KEY.get(part)
        return 4 if places is None else 3 if "_exps" in part else 1 if "norm" in part else 2


def find_key_faults(metadata: Metadata, header: HeaderFacts) -> Iterable[GgufFault]:
    """List keys that are missing, of another type or of no sense to the engine; none for unknown architectures."""
    for key in _COUNTS:
        name = f"{metadata.architecture}.{key}"
        kind = header.key_types.get(name)
        if kind is None and key in _NEEDED:
            yield _fault(name, "nothing", "a whole number (u32)")
        elif kind is not None and kind not in _COUNT_TYPES:
            yield _fault(name, f"type {kind}", "type u32")
    if "tokenizer.ggml.model" not in header.keys:
        yield _fault("tokenizer.ggml.model", "nothing", "the kind of tokenizer")
    if knows(metadata.architecture):
        if not any(f"{metadata.architecture}.{key}" in header.keys for key in _EPSILONS):
            yield _fault(f"{metadata.architecture}.{_EPSILONS[0]}", "nothing", "a small number (f32)")
        try:
            yield from _find_value_faults(metadata)
        except ProbeError as error:
            item, _, rest = error.message.removeprefix(f"{metadata.name}: ").partition(": found ")
            found, _, expected = rest.partition(", expected ")
            yield _fault(item, found, expected)


def _find_value_faults(metadata: Metadata) -> Iterable[GgufFault]:
    layers, name = metadata.all_layers, metadata.architecture
    if not metadata.number(_WIDE):
        yield _fault(f"{name}.{_WIDE}", "0", "at least 1")
    experts = metadata.find("expert_count") or 0
    used = max(metadata.per_layer("expert_used_count", layers, 0))
    if experts > _MOST_EXPERTS:
        yield _fault(f"{name}.expert_count", str(experts), f"at most {_MOST_EXPERTS}")
    elif used > experts or (experts and not used):
        expected = f"1 to {experts} ({name}.expert_count)" if experts else f"0 without {name}.expert_count"
        yield _fault(f"{name}.expert_used_count", str(used), expected)
    for key in _ARRAYS:
        value = metadata.keys.get(f"{name}.{key}")
        if isinstance(value, tuple) and len(value) != layers:
            yield _fault(f"{name}.{key}", f"{len(value)} numbers", f"one, or one for each of {layers} layers")
            return
    heads = metadata.per_layer("attention.head_count", layers)
    if not any(heads):
        yield _fault(f"{name}.attention.head_count", "0", "at least 1")
    yield from _find_rotation_faults(metadata, heads[0])
    groups = metadata.per_layer("attention.head_count_kv", layers, heads[0])
    for layer, (head, group) in enumerate(zip(heads, groups, strict=True)):
        if group and head % group:
            expected = f"a divisor of its {head} heads"
            yield _fault(f"{name}.attention.head_count_kv of layer {layer}", str(group), expected)
            return


def _find_rotation_faults(metadata: Metadata, heads: int) -> Iterable[GgufFault]:
    """Hold the rotated part of a head against the head, where the engine takes nothing less than all of it."""
    rotated = metadata.find("rope.dimension_count")
    if metadata.architecture not in _ROTATED_WHOLE or rotated is None or not heads:
        return
    width = metadata.find("attention.key_length")
    width = metadata.number(_WIDE) // heads if width is None else width
    if rotated != width:
        yield _fault(f"{metadata.architecture}.rope.dimension_count", str(rotated), f"{width}, the width of a head")


def _fault(item: str, found: str, expected: str) -> GgufFault:
    return GgufFault(kind="model", offset_bytes=None, item=item, found=found, expected=expected, cause="", fix=_OTHER)


def expected_shapes(metadata: Metadata) -> Shapes:
    """Work out what the keys ask of the tensors. ProbeError for keys that make no sense."""
    sizes = {key: metadata.find(key) for key in (_WIDE, "expert_count")}
    sizes["expert_feed_forward_length"] = _expert_width(metadata)
    sizes[_vocabulary_key(metadata)] = metadata.vocabulary_count
    return Shapes(
        sizes={key: size for key, size in sizes.items() if size is not None},
        words=_vocabulary_key(metadata),
        heads=_attention_rows(metadata) if groups_heads(metadata.architecture) else {},
    )


def _vocabulary_key(metadata: Metadata) -> str:
    """Name the key that tells how many tokens there are."""
    tokens = "tokenizer.ggml.tokens"
    return tokens if tokens in metadata.keys else "vocab_size"


def _expert_width(metadata: Metadata) -> int | None:
    key = "expert_feed_forward_length"
    width = None if metadata.has_array(key) else metadata.find(key)
    if width or metadata.architecture not in _WIDTH_OF_FEED or metadata.has_array("feed_forward_length"):
        return width
    used = metadata.find("expert_used_count") or 1
    return (metadata.find("feed_forward_length") or 0) // used


def _attention_rows(metadata: Metadata) -> dict[str, tuple[int, ...]]:
    layers = metadata.all_layers
    heads = metadata.per_layer("attention.head_count", layers)
    groups = metadata.per_layer("attention.head_count_kv", layers) if _tells_groups(metadata) else heads
    if not heads[0]:
        return {}  # a model whose layers differ, such as deci
    width = metadata.number(_WIDE) // heads[0]
    key, value = metadata.find("attention.key_length"), metadata.find("attention.value_length")
    key, value = width if key is None else key, width if value is None else value
    return {
        "attn_q.weight": tuple(key * head for head in heads),
        "attn_k.weight": tuple(key * group for group in groups),
        "attn_v.weight": tuple(value * group for group in groups),
        "attn_output.weight": tuple(value * head for head in heads),
    }


def _tells_groups(metadata: Metadata) -> bool:
    return f"{metadata.architecture}.attention.head_count_kv" in metadata.keys
