"""Expected hashes that a Hugging Face download leaves behind, without network.

``hf download --local-dir DIR`` writes ``DIR/.cache/huggingface/download/<name>.metadata``: commit, etag, time of
download, a line each. Without ``--local-dir`` the cache holds ``models--OWNER--NAME/snapshots/<commit>/<name>`` as a
link to ``blobs/<etag>``. The etag is the SHA-256 of the content for large files (LFS, Xet) and git's SHA-1 for small
ones (huggingface_hub documentation, "Understand caching" and "Download files").
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from streamworthy.facts.integrity import ExpectedHash

if TYPE_CHECKING:
    from pathlib import Path

_ALGORITHMS = {64: "sha256", 40: "git-sha1"}
_DEEPEST_FOLDER = 4  # `--local-dir` keeps the repository's folders, such as Q4_K_M/
_LONGEST_METADATA = 4096


def expect_from_metadata(shard: Path) -> ExpectedHash | None:
    """Give what the download metadata beside a shard says of it; None when there is none or it is damaged."""
    shard = shard.absolute()
    for folder in shard.parents[:_DEEPEST_FOLDER]:
        name = shard.relative_to(folder)
        metadata = folder / ".cache" / "huggingface" / "download" / f"{name}.metadata"
        lines = _read_lines(metadata)
        if len(lines) < 2:  # noqa: PLR2004 - commit and etag
            continue
        command = ["hf", "download", "OWNER/REPOSITORY", str(name), "--revision", lines[0], "--local-dir", str(folder)]
        return _expect(shard, lines[1], source=str(metadata), revision=lines[0], command=command)
    return None


def expect_from_cache(shard: Path) -> ExpectedHash | None:
    """Give what the name of the blob says to which a snapshot's link points; None for any other file."""
    shard = shard.absolute()
    blob = shard.resolve()
    if blob.parent.name != "blobs" or "snapshots" not in shard.parts:
        return None
    place = len(shard.parts) - 1 - shard.parts[::-1].index("snapshots")
    name = "/".join(shard.parts[place + 2 :])
    owner, _, repository = shard.parts[place - 1].removeprefix("models--").partition("--")
    command = ["hf", "download", f"{owner}/{repository}", name, "--revision", shard.parts[place + 1]]
    return _expect(
        shard, blob.name, source=f"blobs/{blob.name[:12]}...", revision=shard.parts[place + 1], command=command
    )


def _expect(shard: Path, etag: str, *, source: str, revision: str, command: list[str]) -> ExpectedHash | None:
    digest = etag.strip().removeprefix("W/").strip('"')
    if not re.fullmatch(r"[0-9a-f]+", digest) or len(digest) not in _ALGORITHMS:
        return None
    return ExpectedHash(
        path=shard,
        algorithm=_ALGORITHMS[len(digest)],
        digest=digest,
        source=source,
        download=(shlex.join([*command, "--force-download"]),),
        revision=revision.strip(),
    )


def _read_lines(path: Path) -> list[str]:
    try:
        with path.open(encoding="ascii", errors="replace") as file:
            return file.read(_LONGEST_METADATA).splitlines()
    except OSError:
        return []
