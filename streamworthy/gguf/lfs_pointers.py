"""Git LFS pointers as files: in a shard's place, or in a clone without the content, where they tell its hashes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.errors import UsageError
from streamworthy.facts.integrity import ExpectedHash
from streamworthy.gguf.strangers import POINTER_BYTES, LfsPointer, parse_pointer

if TYPE_CHECKING:
    from pathlib import Path


def read_pointer(path: Path) -> LfsPointer | None:
    """Read a file that may be a pointer; None when it is none. OSError when it cannot be read."""
    with path.open("rb") as file:
        head = file.read(POINTER_BYTES + 1)
    return parse_pointer(head) if len(head) <= POINTER_BYTES else None


def expect_from_pointers(shards: tuple[Path, ...], folder: Path) -> tuple[ExpectedHash, ...]:
    """Give what the pointers in a folder say of the shards whose names they have. UsageError when there are none."""
    found = [(shard, folder / shard.name) for shard in shards if (folder / shard.name).is_file()]
    expected = tuple(
        ExpectedHash(
            path=shard,
            algorithm="sha256",
            digest=pointer.sha256,
            source=f"the Git LFS pointer {path}",
            download=(),
            revision="",
        )
        for shard, path in found
        if (pointer := read_pointer(path)) is not None
    )
    if not expected:
        raise UsageError(
            f"{folder}: found no Git LFS pointer under a shard's name, expected a manifest or a folder of pointers",
            fix="GIT_LFS_SKIP_SMUDGE=1 git clone https://huggingface.co/OWNER/REPOSITORY    # the pointers alone",
        )
    return expected
