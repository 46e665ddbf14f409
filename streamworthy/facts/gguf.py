"""What the headers of a model's shards say: keys, tensors, faults, and the sizes that follow from them.

Format: ggml/docs/gguf.md, versions 2 and 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufFault:
    """One thing in a file that is not what the format says."""

    # "empty", "magic", "truncated", "version", "byte_order", "count", "key", "alignment", "tensor", "type", "layout",
    # "model": the file is sound, but not what the engine needs of such a model
    kind: str
    offset_bytes: int | None  # where in the file; None: in no one place
    item: str  # "magic", "key 3", "tensor 'blk.0.ffn_up.weight'"
    found: str
    expected: str
    cause: str  # the likely cause as a question; empty when none is known
    fix: tuple[str, ...]

    @property
    def line(self) -> str:
        """The fault in one line, without the file's name."""
        tail = f". {self.cause}" if self.cause else ""
        place = "" if self.offset_bytes is None else f"byte {self.offset_bytes}: "
        return f"{place}{self.item}: found {self.found}, expected {self.expected}{tail}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedValue:
    """A value that was walked over and not copied: a vocabulary, a long array, a very long text."""

    type_name: str  # of its elements: "str", "f32", ...
    count: int
    offset_bytes: int  # of its first element


Scalar = int | float | bool | str
Value = Scalar | tuple[int | float | bool, ...] | SkippedValue


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorFacts:
    """One entry of a tensor table."""

    name: str
    dims: tuple[int, ...]  # innermost first, as in the file
    type_id: int
    type_name: str  # "Q4_K", or "type 156" for an id that mainline ggml does not have
    offset_bytes: int  # from the start of the file's data section
    size_bytes: int  # of an unknown type: up to the next tensor or the end of the file

    @property
    def elements(self) -> int:
        """How many weights it holds."""
        count = 1
        for dim in self.dims:
            count *= dim
        return count


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderFacts:
    """The header of one file."""

    version: int
    keys: Mapping[str, Value]  # arrays of at most 4096 numbers as tuples, longer ones and texts skipped
    key_types: Mapping[str, str]  # "u16", "str", "arr[f32]", ...
    tensors: tuple[TensorFacts, ...]  # in file order
    alignment_bytes: int
    header_bytes: int  # up to the end of the tensor table
    data_start_bytes: int  # header_bytes, padded to the alignment
    file_bytes: int

    @property
    def need_bytes(self) -> int:
        """The shortest file that holds every tensor whole, without the padding of the last."""
        ends = [tensor.offset_bytes + tensor.size_bytes for tensor in self.tensors]
        return self.data_start_bytes + max(ends) if ends else self.header_bytes

    @property
    def tensor_bytes(self) -> int:
        """The tensors' own bytes, without padding."""
        return sum(tensor.size_bytes for tensor in self.tensors)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardHeader:
    """What came of reading one shard's header: ``header`` is None when a fault stopped the reading."""

    number: int  # 1-based, from the file's name
    name: str
    header: HeaderFacts | None
    faults: tuple[GgufFault, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSizes:
    """Bytes of a model by what a decoded token does with them. Nothing but headers is read for it.

    ``partial``: a shard is missing or its header is broken, so every size is a lower bound.
    """

    partial: bool
    name: str  # general.name, empty when the model has none
    architecture: str
    context_trained_tokens: int | None  # None: the model does not say
    vocabulary_tokens: int
    embedding_length: int
    parameter_count: int
    layer_count: int  # without the extra layers of multi-token prediction
    expert_count: int  # 0: not a mixture of experts
    expert_used_count: int  # in the layer that uses most
    total_bytes: int  # all tensors: what the engine maps
    dense_bytes: int  # read for every token: all but routed experts, embedding rows and unused layers
    embedding_bytes: int  # tables of which a token reads one row each
    expert_bytes: int  # the bank: all routed experts of all layers
    unused_bytes: int  # layers of multi-token prediction, which plain decoding never reads
    routed_bytes_per_token: int
    bytes_per_token: int  # cold, all of them missing: dense, routed and one row of each embedding table
    slab_bytes: tuple[int, ...]  # sizes of one expert in one tensor, distinct, smallest first; empty: no experts
    layer_routed_bytes: tuple[int, ...]  # what one token reads of each expert layer's bank, in layer order
    type_bytes: tuple[tuple[str, int], ...]  # ("Q4_K", bytes), largest first
