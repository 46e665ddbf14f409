"""Finds what unfinished downloads leave beside a model: of browsers, curl, aria2 and the Hugging Face client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.facts.shards import Leftover
from streamworthy.gguf.names import parse_leftover

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

# huggingface_hub keeps unfinished files here, by hash: which file it is to become cannot be told from the name.
_HUB = (".cache/huggingface/download", "../../blobs")


def list_leftovers(folder: Path, names: Sequence[str], prefix: str) -> tuple[Leftover, ...]:
    """List unfinished downloads of files whose name begins with ``prefix``, and the hub client's of any file."""
    return (*_named(folder, names, prefix), *_hub(folder))


def _named(folder: Path, names: Sequence[str], prefix: str) -> Iterable[Leftover]:
    for name in names:
        parsed = parse_leftover(name)
        if parsed and parsed[0].startswith(prefix):
            twin, control = parsed
            yield Leftover(name=name, twin=twin, twin_present=(folder / twin).exists(), control=control)


def _hub(folder: Path) -> Iterable[Leftover]:
    for place in _HUB:
        if place.startswith("..") and folder.parent.name != "snapshots":
            continue
        for entry in sorted((folder / place).glob("*.incomplete")):
            yield Leftover(name=f"{place}/{entry.name}", twin="", twin_present=False, control=False)
