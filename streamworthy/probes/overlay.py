"""The layers of an overlay, and which of them keeps a file's bytes.

Source: Documentation/filesystems/overlayfs.rst: ``upperdir=``, ``lowerdir=TOP:NEXT::DATA`` with backslashes before what
would part names, one by one as ``lowerdir+=`` and ``datadir+=`` since Linux 6.8, where names stand as they are. Data
layers (6.5) hold the contents of files of which a lower layer has the name only, as composefs uses them.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamworthy.probes.captured import tables

if TYPE_CHECKING:
    from streamworthy.facts.storage import Mount
    from streamworthy.probes.sysroot import Sysroot

_PARTS = re.compile(r"(?:[^:\\]|\\.)+|:+", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layers:
    """Folders of an overlay, topmost first."""

    upper: tuple[str, ...]  # the writable one; empty when the overlay is read-only
    lower: tuple[str, ...]
    data: tuple[str, ...]


def parse_layers(mount: Mount) -> Layers:
    """Read an overlay's layers off its mount options."""
    options = [option.partition("=")[::2] for option in mount.super_options]
    lower: list[str] = []
    data: list[str] = []
    for value in (value for key, value in options if key == "lowerdir"):
        into = lower
        for part in _PARTS.findall(value):
            if part == "::":
                into = data
            elif part != ":":
                into.append(_bare(part))
    return Layers(
        upper=tuple(_bare(value) for key, value in options if key == "upperdir"),
        lower=(*lower, *(value for key, value in options if key == "lowerdir+")),
        data=(*data, *(value for key, value in options if key == "datadir+")),
    )


def _bare(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name, flags=re.DOTALL)


def folders_of(root: Sysroot, mount: Mount, layers: Layers, path: str) -> tuple[str, ...]:
    """Give the layers that keep the bytes of a file: one, or all data layers where a lower one has its name only."""
    found = _holding(root, mount, (*layers.upper, *layers.lower), path)
    return layers.data if layers.data and found in layers.lower else (found,)


def _holding(root: Sysroot, mount: Mount, folders: tuple[str, ...], path: str) -> str:
    """Find the topmost layer that has the file; a captured machine answers from ``[[layer]]``, else the topmost."""
    if not root.live:
        told = {str(each.get("path")): str(each.get("folder")) for each in tables(root, "layer")}
        return told.get(path, next(iter(folders), mount.mount_point))
    inside = f"{mount.root}/{os.path.relpath(path, mount.mount_point)}".lstrip("/")
    found = next((folder for folder in folders if os.path.lexists(f"{folder}/{inside}")), mount.mount_point)
    root.note("layer", {"path": path, "folder": found})
    return found
