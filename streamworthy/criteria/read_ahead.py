"""Read-ahead against the model's slabs: what the kernel brings that nobody asked for. Pure.

Measured, llama.cpp's way of mapping reads 1 + 3 to 4 times read-ahead / slab of what is asked for, so a sixteenth of
a slab costs a fifth to a quarter.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from streamworthy.units import format_bytes

if TYPE_CHECKING:
    from streamworthy.facts.disk import ReadAhead, ReadAheadFacts

_SLAB_PARTS = 16
LEAST_BYTES, _MOST_KIB = 16 * 2**10, 512  # without any, each page is a read of its own; beyond, nothing is gained
_SECTOR_BYTES = 512


def advised_kib(slab_bytes: int) -> int:
    """Give the power of two at or below a sixteenth of a slab, in KiB, from 16 to 512."""
    kib = slab_bytes // _SLAB_PARTS // 2**10
    return min(_MOST_KIB, max(LEAST_BYTES // 2**10, 1 << (kib.bit_length() - 1) if kib else 0))


def describe_read_ahead(facts: ReadAheadFacts) -> str:
    """Name the settings: ``read-ahead of nvme0n1 is 8.0 MiB (/sys/block/...)``."""
    told = [
        f"read-ahead of {each.device} is "
        f"{'unknown' if each.read_ahead_bytes is None else format_bytes(each.read_ahead_bytes)} ({each.setting})"
        for each in facts.devices
    ]
    return "; ".join(told) or "no device below the shards has a read-ahead of its own"


def advised_fix(facts: ReadAheadFacts, slab_bytes: int) -> tuple[str, ...]:
    """Give the lines that set a better read-ahead now and keep it; for devices that have more than that, or none."""
    kib = advised_kib(slab_bytes)
    known = [(each, each.read_ahead_bytes) for each in facts.devices if each.read_ahead_bytes is not None]
    other = [each for each, size in known if size > kib * 2**10 or size < LEAST_BYTES]
    return tuple(dict.fromkeys(line for each in other for line in _lines(each, kib)))


def _lines(device: ReadAhead, kib: int) -> tuple[str, ...]:
    if not device.udev_match:
        rule = f"w {device.setting} - - - - {kib}"
        return (
            f"echo {kib} | sudo tee {shlex.quote(device.setting)}  # now; restart the engine",
            f"echo {shlex.quote(rule)} | sudo tee /etc/tmpfiles.d/read-ahead.conf  # at each boot",
        )
    rule = f'ACTION=="add|change", SUBSYSTEM=="block", {device.udev_match}, ATTR{{queue/read_ahead_kb}}="{kib}"'
    return (
        f"sudo blockdev --setra {kib * 2**10 // _SECTOR_BYTES} /dev/{device.device}  # now; restart the engine",
        f"echo {shlex.quote(rule)} | sudo tee /etc/udev/rules.d/99-read-ahead-{device.device}.rules  # at each boot",
    )
