"""Finds what unfinished downloads leave beside a model: of browsers, download managers and the hubs' clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.facts.shards import Leftover
from streamworthy.gguf.names import parse_leftover

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

# huggingface_hub keeps unfinished files here, by hash: which file it is to become cannot be told from the name.
_HUB = (".cache/huggingface/download", "../../blobs")
_MODELSCOPE = "._____temp"  # modelscope's snapshot_download keeps unfinished files here, under their last names


def list_leftovers(folder: Path, names: Sequence[str], belongs: Callable[[str], bool]) -> tuple[Leftover, ...]:
    """List unfinished downloads of files whose last name ``belongs`` to the model, and the hub client's of any file."""
    return (*_named(folder, names, belongs), *_modelscope(folder, belongs), *_hub(folder))


def _named(folder: Path, names: Sequence[str], belongs: Callable[[str], bool]) -> Iterable[Leftover]:
    for name in names:
        parsed = parse_leftover(name)
        if parsed and belongs(parsed[0]):
            twin, control = parsed
            yield Leftover(name=name, twin=twin, twin_present=(folder / twin).exists(), control=control)


def _modelscope(folder: Path, belongs: Callable[[str], bool]) -> Iterable[Leftover]:
    for entry in sorted((folder / _MODELSCOPE).glob("*.gguf")):
        if belongs(entry.name):
            there = (folder / entry.name).exists()
            yield Leftover(name=f"{_MODELSCOPE}/{entry.name}", twin=entry.name, twin_present=there, control=False)


def _hub(folder: Path) -> Iterable[Leftover]:
    for place in _HUB:
        if place.startswith("..") and folder.parent.name != "snapshots":
            continue
        for entry in sorted((folder / place).glob("*.incomplete")):
            yield Leftover(name=f"{place}/{entry.name}", twin="", twin_present=False, control=False)
