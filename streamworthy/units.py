"""Quantities as people write them in tier files and as they are printed: one canonical unit per kind.

Canonical: bytes, seconds, bytes per second, tokens per second, shares of one, plain counts, version tuples.
Binary and decimal prefixes are kept apart (IEC 80000-13): ``64 MiB`` is 67108864, ``3 GB/s`` is 3e9.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_BINARY = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_DECIMAL = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_BYTES = _DECIMAL | _BINARY
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_RATES = {f"{name}/s": factor for name, factor in _BYTES.items()}
_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z%/]+)")


def format_bytes(value: float) -> str:
    """Write a size with one decimal and a binary unit: ``3.1 GiB``; whole bytes below 1 KiB."""
    for name in ("TiB", "GiB", "MiB", "KiB"):
        if abs(value) >= _BINARY[name]:
            return f"{value / _BINARY[name]:.1f} {name}"
    return f"{value:.0f} B"


def format_seconds(value: float) -> str:
    """Write a duration in the unit in which it is readable: ``85 us``, ``1.3 s``, ``4 min 10 s``, ``2 h 5 min``."""
    if value < 1e-3:  # noqa: PLR2004
        return f"{value * 1e6:.0f} us"
    if value < 1:
        return f"{value * 1e3:.1f} ms"
    if value < 90:  # noqa: PLR2004 - people read "80 s" faster than "1 min 20 s"
        return f"{value:.1f} s"
    minutes, seconds = divmod(round(value), 60)
    if minutes < 90:  # noqa: PLR2004
        return f"{minutes} min {seconds} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"


def format_rate(value: float) -> str:
    """Write a bandwidth in decimal units, as drives and memory are sold: ``3.2 GB/s``."""
    for name in ("TB", "GB", "MB", "kB"):
        if abs(value) >= _DECIMAL[name]:
            return f"{value / _DECIMAL[name]:.1f} {name}/s"
    return f"{value:.0f} B/s"


def format_tokens_per_second(value: float) -> str:
    """Write a token rate with the digits that matter: ``221 tok/s``, ``8.9 tok/s``, ``0.053 tok/s``."""
    digits = 0 if value >= 100 else 1 if value >= 1 else 3  # noqa: PLR2004
    return f"{value:.{digits}f} tok/s"


def format_share(value: float) -> str:
    """Write a share of one as a percentage: ``97.5 %``."""
    return f"{value * 100:.1f} %"


def format_count(value: float) -> str:
    """Write a whole number: ``12``."""
    return f"{value:.0f}"


def format_counted(count: int, thing: str) -> str:
    """Write a number of things: ``1 shard``, ``2 shards``."""
    return f"{count} {thing}{'' if count == 1 else 's'}"


def format_ratio(value: float) -> str:
    """Write a multiple: ``1.20x``."""
    return f"{value:.2f}x"


def _parse_with(factors: Mapping[str, float]) -> Callable[[object], float]:
    def parse(value: object) -> float:
        match = _QUANTITY.fullmatch(value.strip()) if isinstance(value, str) else None
        if match is None or match[2] not in factors:
            raise ValueError(", ".join(factors))
        return float(match[1]) * factors[match[2]]

    return parse


def _parse_count(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("a whole number without a unit")
    return value


def _parse_ratio(value: object) -> float:
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)x", value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("x, as in '1.2x'")
    return float(match[1])


def _parse_version(value: object) -> tuple[int, ...]:
    if not isinstance(value, str) or not re.fullmatch(r"[0-9]+(\.[0-9]+){0,3}", value):
        raise ValueError("a version such as '5.14'")
    return tuple(int(part) for part in value.split("."))


def _parse_words(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(word, str) and word for word in value):
        raise ValueError("a list of words")
    return tuple(value)


def _parse_flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")  # noqa: TRY004 - one exception for the caller
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of quantity: its canonical unit's name, how it is read from TOML and how it is printed.

    ``parse`` raises ValueError whose text names what is accepted.
    """

    unit: str
    parse: Callable[[object], object]
    format: Callable[..., str]


BYTES = Kind(unit="bytes", parse=_parse_with(_BYTES), format=format_bytes)
SECONDS = Kind(unit="seconds", parse=_parse_with(_SECONDS), format=format_seconds)
BYTES_PER_SECOND = Kind(unit="bytes_per_second", parse=_parse_with(_RATES), format=format_rate)
TOKENS_PER_SECOND = Kind(unit="tokens_per_second", parse=_parse_with({"tok/s": 1.0}), format=format_tokens_per_second)
SHARE = Kind(unit="share", parse=_parse_with({"%": 0.01}), format=format_share)
KELVIN = Kind(unit="kelvin", parse=_parse_with({"K": 1.0}), format=lambda value: f"{value:.0f} K")
COUNT = Kind(unit="count", parse=_parse_count, format=format_count)
RATIO = Kind(unit="ratio", parse=_parse_ratio, format=format_ratio)
VERSION = Kind(unit="version", parse=_parse_version, format=lambda value: ".".join(str(part) for part in value))
WORDS = Kind(unit="words", parse=_parse_words, format=", ".join)
FLAG = Kind(unit="flag", parse=_parse_flag, format=str)
