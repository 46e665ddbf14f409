"""What each tensor of a model is for, and where it lies in the files."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class TensorKind(StrEnum):
    """What a decoded token does with a tensor."""

    DENSE = "dense"  # attention, dense feed-forward, norms, routers: read for every token
    SHARED = "shared experts"  # read for every token
    OUTPUT = "output"  # the matrix to the vocabulary: read for every token, and so is an embedding that serves as it
    EMBEDDING = "embeddings"  # one row a token
    ROUTED = "routed experts"  # a few of many for each token
    UNUSED = "unused layers"  # of multi-token prediction: plain decoding never reads them


EVERY_TOKEN = (TensorKind.DENSE, TensorKind.SHARED, TensorKind.OUTPUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class KindSizes:
    """All tensors of one kind."""

    kind: TensorKind
    tensor_count: int
    parameter_count: int
    size_bytes: int
    type_bytes: tuple[tuple[str, int], ...]  # ("Q4_K", bytes), largest first

    @property
    def bits_per_weight(self) -> float:
        """Stored bits for each weight, scales included; 0 without weights."""
        return 8 * self.size_bytes / self.parameter_count if self.parameter_count else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorPlace:
    """One tensor's bytes in one of the files."""

    path: Path  # of its shard
    offset_bytes: int  # from the start of the file
    size_bytes: int  # what of it the file holds: less than the tensor where a download was cut
    kind: TensorKind
    layer: int | None  # None: belongs to no layer
