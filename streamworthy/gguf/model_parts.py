"""Whether a file is a language model at all, and whether its layers have the parts that its keys promise.

Source: llama.cpp, July 2026: general.type and the architectures that are none (gguf-py's constants.py, imatrix.cpp,
export-lora.cpp, clip.cpp), and load_arch_tensors of src/models/*.cpp, which asks for experts by expert_count and by
leading_dense_block_count. Experts in tensors of their own are of before April 2024 (pull request 6387).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from streamworthy.facts.gguf import GgufFault
from streamworthy.gguf.attention import knows
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


def _fault(item: str, found: str, expected: str, cause: str = "", fix: tuple[str, ...] = _OTHER) -> GgufFault:
    return GgufFault(kind="model", offset_bytes=None, item=item, found=found, expected=expected, cause=cause, fix=fix)
