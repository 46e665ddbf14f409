"""Writes the sample's shards with the ``gguf`` package, tensor by tensor.

The first shard holds all metadata and each holds the ``split.*`` keys, as llama-gguf-split writes them.
"""

from __future__ import annotations

import os
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter, LlamaFileType, TokenType

from streamworthy.sample.spec import CONTEXT_TOKENS, SampleSpec
from streamworthy.sample.tensors import Tensor, plan_tensors
from streamworthy.sample.vocabulary import build_vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_ARCHITECTURE = "qwen3moe"
_QUANTIZATION_VERSION = 2


def planned_bytes(spec: SampleSpec) -> int:
    """Give the bytes of all tensors; headers and padding add less than 1 MB."""
    return sum(tensor.nbytes for tensor in plan_tensors(spec))


def write_shards(folder: Path, spec: SampleSpec, progress: Callable[[int, int], None] | None) -> None:
    """Write and flush all shards into a folder. ``progress`` gets the tensor bytes done and the total after each.

    Raises OSError.
    """
    tensors = plan_tensors(spec)
    total_bytes = planned_bytes(spec)
    done_bytes = 0

    def advance(tensor: Tensor) -> None:
        nonlocal done_bytes
        done_bytes += tensor.nbytes
        if progress is not None:
            progress(done_bytes, total_bytes)

    parts = _split(tensors, spec.shard_count)
    for number in range(spec.shard_count):
        _write_shard(folder, spec, number, parts, advance)


def _split(tensors: tuple[Tensor, ...], count: int) -> list[list[Tensor]]:
    """Cut the list, in order, into parts of about equal bytes."""
    ends = list(accumulate(tensor.nbytes for tensor in tensors))
    parts: list[list[Tensor]] = [[] for _ in range(count)]
    for tensor, end in zip(tensors, ends, strict=True):
        parts[(end - 1) * count // ends[-1]].append(tensor)
    return parts


def _write_shard(
    folder: Path, spec: SampleSpec, number: int, parts: list[list[Tensor]], advance: Callable[[Tensor], None]
) -> None:
    writer = GGUFWriter(folder / spec.shard_names[number], _ARCHITECTURE)
    try:
        if number == 0:
            _add_metadata(writer, spec)
        else:
            writer.kv_data[0].clear()  # only the first shard names the architecture
        writer.add_uint16("split.no", number)
        writer.add_uint16("split.count", spec.shard_count)
        writer.add_int32("split.tensors.count", sum(map(len, parts)))
        _write_tensors(writer, parts[number], advance)
    finally:
        writer.close()


def _write_tensors(writer: GGUFWriter, tensors: list[Tensor], advance: Callable[[Tensor], None]) -> None:
    for tensor in tensors:
        raw_type = GGMLQuantizationType[tensor.type]
        writer.add_tensor_info(tensor.name, tensor.stored_shape, _numpy_type(tensor), tensor.nbytes, raw_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for tensor in tensors:
        writer.write_tensor_data(tensor.make())
        advance(tensor)
    for file in writer.fout or ():
        file.flush()
        os.fsync(file.fileno())


def _numpy_type(tensor: Tensor) -> np.dtype[np.generic]:
    return np.dtype({"F32": np.float32, "F16": np.float16}.get(tensor.type, np.uint8))


def _add_metadata(writer: GGUFWriter, spec: SampleSpec) -> None:
    writer.add_name(spec.prefix)
    writer.add_description("Random weights, made locally to measure a machine; it has learned nothing.")
    writer.add_license("CC0-1.0")
    writer.add_file_type(LlamaFileType.MOSTLY_Q4_0)
    writer.add_quantization_version(_QUANTIZATION_VERSION)
    writer.add_block_count(spec.n_layer)
    writer.add_context_length(CONTEXT_TOKENS)
    writer.add_embedding_length(spec.n_embd)
    writer.add_feed_forward_length(spec.n_ff)
    writer.add_expert_feed_forward_length(spec.n_ff)
    writer.add_expert_count(spec.n_expert)
    writer.add_expert_used_count(spec.n_expert_used)
    writer.add_head_count(spec.n_head)
    writer.add_head_count_kv(spec.n_head_kv)
    writer.add_key_length(spec.head_dim)
    writer.add_value_length(spec.head_dim)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(1e6)
    _add_tokenizer(writer)


def _add_tokenizer(writer: GGUFWriter) -> None:
    vocabulary = build_vocabulary()
    end_id = len(vocabulary.tokens) - 1
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(vocabulary.tokens)
    writer.add_token_types([TokenType.NORMAL] * end_id + [TokenType.CONTROL])
    writer.add_token_merges(vocabulary.merges)
    writer.add_bos_token_id(end_id)
    writer.add_eos_token_id(end_id)
    writer.add_pad_token_id(end_id)
    writer.add_add_bos_token(False)
