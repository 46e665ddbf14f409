"""What the hardware gives at best while tokens are decoded."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Roof:
    """One bandwidth that bounds the rate of tokens."""

    name: str  # "memory" or "disk"
    bytes_per_second: float
    measured: bool  # False: the tier's reference, which a better machine exceeds
    basis: str  # how it was measured, or why it was not


@dataclass(frozen=True, slots=True, kw_only=True)
class RoofFacts:
    """The roofs over decoding, and what one token takes through memory."""

    memory: Roof
    disk: Roof
    bytes_per_token: int
