"""Writes what a recording sysroot holds as a folder of readable text: a captured machine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from streamworthy.capture.recorder import RecordingSysroot
    from streamworthy.capture.scrubber import Scrubber

_MAX_FILE_BYTES = 2**20
_MAX_TOTAL_BYTES = 16 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What became of a capture."""

    file_count: int
    link_count: int
    size_bytes: int
    left_out: dict[str, str]  # place: reason


def write_tree(folder: Path, recorded: RecordingSysroot, scrubber: Scrubber) -> Written:
    """Write files, links and folders below ``folder``; what is too large is left out, with the reason."""
    total, left_out = 0, {}
    for place, text in sorted(recorded.texts.items()):
        content = scrubber.kernel_file(place, text).replace("\0", "\n").encode("utf-8", "surrogateescape")
        if len(content) > _MAX_FILE_BYTES or total + len(content) > _MAX_TOTAL_BYTES:
            left_out[scrubber.path(place)] = f"left out of the capture: {len(content)} bytes"
            continue
        total += len(content)
        _made(folder / scrubber.path(place)).write_bytes(content)
    for place in recorded.folders:
        (folder / scrubber.path(place)).mkdir(parents=True, exist_ok=True)
    for place, goal in recorded.links.items():
        _link(folder, scrubber.path(place), scrubber.path(goal))
    return Written(
        file_count=len(recorded.texts) - len(left_out),
        link_count=len(recorded.links),
        size_bytes=total,
        left_out=left_out,
    )


def _made(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


def _link(folder: Path, place: str, goal: str) -> None:
    link = _made(folder / place)
    if not os.path.lexists(link):
        link.symlink_to(os.path.relpath(folder / goal, link.parent))
