"""Whether a file is a language model at all, and whether its layers have the parts that its keys promise.

Source: llama.cpp, July 2026: general.type and the architectures that are none (gguf-py's constants.py, imatrix.cpp,
export-lora.cpp, clip.cpp), and load_arch_tensors of src/models/*.cpp, which asks for experts by expert_count and by
leading_dense_block_count. Experts in tensors of their own are of before April 2024 (pull request 6387).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from streamworthy.facts.gguf import GgufFault
from streamworthy.gguf.attention import groups_heads, knows
from streamworthy.gguf.tensor_kinds import is_routed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from streamworthy.facts.gguf import HeaderFacts
    from streamworthy.gguf.metadata import Metadata

_OTHER = ("take another upload of the model",)
_OWN = "name the model's own file: --model MODEL.gguf"
_COMPANIONS = {
    "adapter": ("a LoRA adapter", "llama-export-lora -m MODEL.gguf --lora ADAPTER.gguf -o MERGED.gguf    # joins both"),
    "imatrix": ("an importance matrix, which llama-quantize reads", ""),
    "mmproj": ("a projector for pictures or sound, which goes beside a model (--mmproj)", ""),
    "clip-vision": ("a projector for pictures, which goes beside a model (--mmproj)", ""),
    "controlvector": ("a control vector, which goes beside a model (--control-vector)", ""),
}
_BY_ARCHITECTURE = {"clip": "mmproj", "controlvector": "controlvector", "imatrix": "imatrix"}
_SINGLE_EXPERT = re.compile(r"ffn_(?:gate|up|down)\.\d{1,3}\.weight")
_OF_EXPERTS = (
    ("ffn_gate_inp.weight",),
    ("ffn_up_exps.weight", "ffn_gate_up_exps.weight"),
    ("ffn_down_exps.weight",),
)
_OF_ATTENTION = (
    ("attn_q.weight", "attn_qkv.weight"),
    ("attn_k.weight", "attn_qkv.weight"),
    ("attn_v.weight", "attn_qkv.weight"),
    ("attn_output.weight",),
)
_OF_FEED_FORWARD = (("ffn_up.weight",), ("ffn_down.weight",))
# Those that take leading_dense_block_count at its word.
_LEADING_DENSE = frozenset({"bailingmoe2", "deepseek", "deepseek2", "deepseek32", "dots1", "glm-dsa", "glm4moe"})


def recognise_companion(header: HeaderFacts) -> GgufFault | None:
    """Tell what a sound file is that is no language model; None for a model, and for a shard without keys."""
    architecture, kind = header.keys.get("general.architecture"), header.keys.get("general.type")
    kind = _BY_ARCHITECTURE.get(str(architecture), kind)
    if kind in _COMPANIONS:
        cause, fix = _COMPANIONS[str(kind)]
        return _fault("kind of file", str(kind), "a language model", cause, (_OWN, *((fix,) if fix else ())))
    if not isinstance(architecture, str) or not architecture or knows(architecture):
        return None
    asked = (*(f"{architecture}.{key}" for key in ("context_length", "block_count")), "tokenizer.ggml.model")
    if any(key in header.keys for key in asked):
        return None
    return _fault("general.architecture", architecture, "a language model", "a model of pictures or sound?", (_OWN,))


def find_part_faults(metadata: Metadata, parts: Mapping[int, Iterable[str]]) -> Iterable[GgufFault]:
    """List layers without the parts that the keys promise. ``parts``: names below ``blk.N.`` by layer."""
    if not any(parts.values()) and not knows(metadata.architecture):
        return  # an architecture that names its layers otherwise, such as t5
    empty = empty_layers(metadata, {layer for layer, names in parts.items() if names})
    if empty:
        draft = len(empty) == metadata.layers and any(parts.values())
        found = f"{len(empty)} of {metadata.layers}, the first is layer {empty[0]}"
        cause = "a draft for multi-token prediction, which goes beside a model?" if draft else ""
        yield _fault("layers without tensors", found, "none", cause, (_OWN,) if draft else _OTHER)
    elif knows(metadata.architecture):
        yield from _find_expert_faults(metadata, parts)
        yield from _find_lacking(metadata, parts)
        yield from _find_drafts(metadata, parts)


def empty_layers(metadata: Metadata, filled: set[int]) -> list[int]:
    """List decoding layers without tensors; those without attention and feed-forward by design (deci) are left out."""
    shapes = [
        metadata.keys.get(f"{metadata.architecture}.{key}") for key in ("attention.head_count", "feed_forward_length")
    ]

    def is_passed_through(layer: int) -> bool:
        return all(isinstance(shape, tuple) and layer < len(shape) and not shape[layer] for shape in shapes)

    return [layer for layer in range(metadata.layers) if layer not in filled and not is_passed_through(layer)]


def _find_expert_faults(metadata: Metadata, parts: Mapping[int, Iterable[str]]) -> Iterable[GgufFault]:
    experts, key = metadata.find("expert_count") or 0, f"{metadata.architecture}.expert_count"
    routed = {layer for layer, names in parts.items() if any(is_routed(name) for name in names)}
    single = next(
        (f"blk.{layer}.{name}" for layer, names in parts.items() for name in names if _SINGLE_EXPERT.fullmatch(name)),
        "",
    )
    if single and not routed:
        yield _fault(
            f"tensor '{single}'",
            "one expert",
            "all experts of the layer in one tensor",
            "made before April 2024, in a form that llama.cpp no longer reads",
            ("take a newer upload of the model, or convert it again: python convert_hf_to_gguf.py FOLDER",),
        )
    elif experts and not routed:
        yield _fault("tensors of experts", "none", f"those of {experts} experts ({key})")
    elif routed and not experts:
        yield _fault(key, str(metadata.keys.get(key, "nothing")), f"how many experts layer {min(routed)} has")
    elif experts:
        yield from _find_dense_faults(metadata, routed)


def _find_dense_faults(metadata: Metadata, routed: set[int]) -> Iterable[GgufFault]:
    lead = metadata.find("leading_dense_block_count")
    if lead is None or metadata.architecture not in _LEADING_DENSE:
        return
    why = f"({metadata.architecture}.leading_dense_block_count is {lead})"
    dense = [layer for layer in range(metadata.layers) if layer < lead and layer in routed]
    lacking = [layer for layer in range(metadata.layers) if layer >= lead and layer not in routed]
    if dense:
        yield _fault(f"layer {dense[0]}", "experts", f"a dense layer {why}")
    if lacking:
        yield _fault(f"layer {lacking[0]}", "no experts", f"experts {why}")


def _find_lacking(metadata: Metadata, parts: Mapping[int, Iterable[str]]) -> Iterable[GgufFault]:
    """List what no layer computes without; one line for each kind, with the first layer that lacks it."""
    told = set()
    for layer in range(metadata.layers):
        names = set(parts.get(layer, ()))
        for choices in _needed(metadata.architecture, names):
            if names.isdisjoint(choices) and choices not in told:
                told.add(choices)
                others = f" or {' or '.join(choices[1:])}" if choices[1:] else ""
                yield _fault(f"tensor 'blk.{layer}.{choices[0]}'{others}", "nothing", "the tensor")


def _needed(architecture: str, names: set[str]) -> Iterable[tuple[str, ...]]:
    """Give what a layer with these names needs, as the names of which one is enough."""
    routed = any(is_routed(name) for name in names)
    if routed:
        yield from _OF_EXPERTS
    if groups_heads(architecture) and architecture != "deci":  # whose layers may lack either half
        yield from _OF_ATTENTION
        if not routed:
            yield from _OF_FEED_FORWARD


def _find_drafts(metadata: Metadata, parts: Mapping[int, Iterable[str]]) -> Iterable[GgufFault]:
    """Hold layers of multi-token prediction against their count."""
    key = f"{metadata.architecture}.nextn_predict_layers"
    count, layers = metadata.find("nextn_predict_layers") or 0, metadata.all_layers
    drafts = [
        layer for layer in range(metadata.layers) if any(name.startswith("nextn.") for name in parts.get(layer, ()))
    ]
    if drafts:
        yield _fault(key, str(count), f"{layers - drafts[0]}: layer {drafts[0]} is one of multi-token prediction")
    elif count >= layers:
        yield _fault(key, str(count), f"less than {layers}, the number of layers")


def _fault(item: str, found: str, expected: str, cause: str = "", fix: tuple[str, ...] = _OTHER) -> GgufFault:
    return GgufFault(kind="model", offset_bytes=None, item=item, found=found, expected=expected, cause=cause, fix=fix)
