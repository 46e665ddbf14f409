"""What is said of texts in a model's keys that tell of the one who made the file. Pure."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from streamworthy.facts.integrity import MetadataLeak


def tell_leak(leak: MetadataLeak) -> str:
    """Say which key tells what: ``m.gguf: general.source.url: access token (hf_***)``."""
    return f"{leak.file}: {leak.key}: {leak.kind} ({leak.shown})"


def how_to_clean(leaks: Sequence[MetadataLeak]) -> Iterator[str]:
    """Give the lines that take the keys out of a copy; a secret has to be revoked first."""
    if any(leak.secret for leak in leaks):
        yield "revoke the token or password where it was issued: who has the file has it"
    for file in dict.fromkeys(leak.file for leak in leaks):
        keys = dict.fromkeys(leak.key for leak in leaks if leak.file == file)
        removed = " ".join(f"--remove-metadata {shlex.quote(key)}" for key in keys)
        name = shlex.quote(file)
        yield f"python -m gguf.scripts.gguf_new_metadata {removed} {name} {shlex.quote(f'clean-{file}')}"
