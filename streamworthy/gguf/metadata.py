"""Typed access to a model's keys, by the names that llama.cpp gives them below the architecture's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.errors import ProbeError
from streamworthy.facts.gguf import SkippedValue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamworthy.facts.gguf import Value

_MOST_LAYERS = 512  # llama-hparams.h, LLAMA_MAX_LAYERS


class Metadata:
    """The keys of a model's first shard. ``name`` is the file's, for messages."""

    def __init__(self, name: str, keys: Mapping[str, Value]) -> None:
        """Take the keys; ProbeError when they do not name an architecture."""
        self.name = name
        self.keys = keys
        self.architecture = self.text("general.architecture")
        if not self.architecture:
            raise ProbeError(
                f"{name}: general.architecture: not found, expected the model's architecture",
                fix="take the first shard of a language model: it alone holds the keys of its set",
            )

    def text(self, key: str) -> str:
        """Give a text, empty when it is absent."""
        value = self.keys.get(key, "")
        return value if isinstance(value, str) else ""

    def find(self, key: str) -> int | None:
        """Give a whole number of the architecture, None when it is absent. ProbeError for another kind of value."""
        value = self.keys.get(f"{self.architecture}.{key}")
        if value is None or (isinstance(value, int) and 0 <= value < 2**32):
            return value
        raise self._unfit(key, value, "a whole number")

    def number(self, key: str) -> int:
        """Give a whole number that every model of this kind has; ProbeError when it is absent."""
        value = self.find(key)
        if value is None:
            raise self._unfit(key, None, "a whole number")
        return value

    def per_layer(self, key: str, layers: int, default: int | None = None) -> tuple[int, ...]:
        """Give a number for each layer; a single one holds for all. ProbeError when it is absent without default."""
        value = self.keys.get(f"{self.architecture}.{key}", default)
        if isinstance(value, int):
            return (int(value),) * layers
        if isinstance(value, tuple) and len(value) >= layers and all(isinstance(one, int) for one in value):
            return tuple(int(one) for one in value[:layers])
        raise self._unfit(key, value, f"a whole number, or one for each of {layers} layers")

    def has_array(self, key: str) -> bool:
        """Tell whether a key holds an array."""
        return isinstance(self.keys.get(f"{self.architecture}.{key}"), (tuple, SkippedValue))

    @property
    def all_layers(self) -> int:
        """Layers in the file, those of multi-token prediction included. ProbeError outside of 1 to 512."""
        count = self.number("block_count")
        if not 1 <= count <= _MOST_LAYERS:
            raise self._unfit("block_count", count, f"1 to {_MOST_LAYERS}")
        return count

    @property
    def layers(self) -> int:
        """Layers that decode: without those of multi-token prediction."""
        return max(0, self.all_layers - (self.find("nextn_predict_layers") or 0))

    @property
    def vocabulary_count(self) -> int:
        """Number of tokens, 0 when the model has no vocabulary."""
        tokens = self.keys.get("tokenizer.ggml.tokens")
        if isinstance(tokens, SkippedValue):
            return tokens.count
        return self.find("vocab_size") or 0

    def _unfit(self, key: str, found: object, expected: str) -> ProbeError:
        shown = "nothing" if found is None else repr(found)[:80]
        return ProbeError(
            f"{self.name}: {self.architecture}.{key}: found {shown}, expected {expected}",
            fix="take another upload of the model: this one's keys are not what llama.cpp reads",
        )
