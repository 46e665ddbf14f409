"""What the user asked a qualification for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path  # noqa: TC003 - records keep their types at run time, so that facts.json can be written


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the user asked for; paths are as given, None where the option was not."""

    model: Path | None
    tier: str | None
    tiers: Path  # folder of the tier files
    sha256: Path | None
    rehash: bool
    depth: str
    waivers: Path | None
    report: Path | None
    sysroot: Path | None
    disturb: bool
    anonymous: bool
    scratch: Path | None
    sample_size: str
    self_check: bool
