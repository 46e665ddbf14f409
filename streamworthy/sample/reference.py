"""What the sample must give: its answer to a fixed prompt, and its shards' digests where they are stored."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from streamworthy.sample.spec import spec_for_size

if TYPE_CHECKING:
    from streamworthy.sample.spec import SampleSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleReference:
    """The greedy answer of every sample, whatever its size: the embedding decides it, not the random layers.

    ``logit_margin`` is the least lead of the answer's tokens over the next best one, as measured on the sizes that
    ``measured_megabytes`` lists; engine options and thread counts moved no logit by more than ``logit_noise``.
    """

    prompt: str
    prompt_tokens: tuple[int, ...]
    answer: str
    answer_tokens: tuple[int, ...]
    logit_margin: float
    logit_noise: float
    measured_megabytes: tuple[int, ...]


def load_reference() -> SampleReference:
    """Load the stored answer."""
    stored = _stored()["answer"]
    return SampleReference(
        prompt=stored["prompt"],
        prompt_tokens=tuple(stored["prompt_tokens"]),
        answer=stored["answer"],
        answer_tokens=tuple(stored["answer_tokens"]),
        logit_margin=stored["logit_margin"],
        logit_noise=stored["logit_noise"],
        measured_megabytes=tuple(stored["measured_megabytes"]),
    )


def stored_digests(spec: SampleSpec) -> tuple[str, ...] | None:
    """Give the SHA-256 of each shard in hex; None for a shape whose digests are not stored."""
    if spec != spec_for_size(spec.size_bytes):
        return None
    digests = _stored()["sha256"].get(str(spec.size_bytes // 10**6))
    return None if digests is None else tuple(digests)


@cache
def _stored() -> dict[str, Any]:
    stored: dict[str, Any] = json.loads(files("streamworthy.sample").joinpath("reference.json").read_text())
    return stored
