"""Reads shard names: which file is which part of which set, and what is not a shard at all.

llama.cpp builds every shard's name from the first one's with the format ``%s-%05d-of-%05d.gguf`` and opens nothing
else (llama_split_path, llama.cpp). Naming rules are about the name that the engine is given, before links are followed.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_STRICT = re.compile(r"(?P<prefix>.*)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf", re.DOTALL)
_LOOSE = re.compile(
    r"(?P<prefix>.*?)[-_. ](?:part[-_.]?)?(?P<number>\d{1,9})[-_ ]?of[-_ ]?(?P<count>\d{1,9})"
    r"(?P<tail>(?: ?\(\d+\)| ?- ?(?:Copy|Kopie|Copie|Copia|副本|复件|コピー|копия)(?: ?\(\d+\))?|[-_ ]copy(?: \d+)?)?)"
    r"\.gguf(?:\?[^/]*)?",  # wget keeps an address's ?download=true
    re.DOTALL | re.IGNORECASE,
)
# Browsers, download managers, curl, rclone, gcloud, llama.cpp (common/download.cpp), torrent clients, Xunlei.
_LEFTOVER = re.compile(
    r"(?P<twin>.+\.gguf)(?:\.[\w-]+)??[._]{1,2}(?P<kind>part|partial|incomplete|crdownload|download|downloading|opdownload|tmp|gstmp"
    r"|downloadinprogress|!qb|!ut|!bt|bc!|filepart|dtapart|fdmdownload|unfinished|xltd|td|(?P<control>aria2(?:__temp)?|st|lftp-pget-status))"
    r"(?:\.\w+)?",
    re.IGNORECASE,
)
_TEMPORARY = re.compile(r"\.(?:syncthing\.(?P<synced>.+\.gguf)\.tmp|(?P<rsynced>.+\.gguf)\.[A-Za-z0-9]{6})")
_COMPANION = re.compile(r"(?:^|[-_.])mmproj|(?:^|[-_.])imatrix|\.dat$", re.IGNORECASE)
_MODEL = re.compile(r"[^.].*\.gguf(?:\?[^/]*)?", re.DOTALL | re.IGNORECASE)
_BLOB = re.compile(r"[0-9a-f]{64}")


class ShardName(NamedTuple):
    """A name taken apart. ``strict``: exactly as the engine writes it."""

    name: str
    prefix: str
    number: int
    total: int  # N of "-of-N"; 0 for a name without numbers
    strict: bool
    copy: bool  # a browser's or a file manager's second copy: "X-00001-of-00003 (1).gguf"

    @property
    def fits(self) -> bool:
        """The number is one of 1 to total."""
        return 1 <= self.number <= self.total


def engine_name(prefix: str, number: int, count: int) -> str:
    """Write a shard's name as the engine does."""
    return f"{prefix}-{number:05d}-of-{count:05d}.gguf"


def parse_name(name: str) -> ShardName | None:
    """Take a shard's name apart, also one that only people would read as such; None for any other name."""
    match = _STRICT.fullmatch(name)
    if match is not None:
        return ShardName(name, match["prefix"], int(match["number"]), int(match["count"]), strict=True, copy=False)
    match = _LOOSE.fullmatch(name)
    if match is None:
        return None
    number, count = int(match["number"]), int(match["count"])
    return ShardName(name, match["prefix"], number, count, strict=False, copy=bool(match["tail"]))


def parse_leftover(name: str) -> tuple[str, bool] | None:
    """Recognise what an unfinished download leaves: the name it will have, and whether it is a control file.

    A control file lies beside the file that is written under its last name already, often in its full size.
    """
    hidden = _TEMPORARY.fullmatch(name)
    if hidden is not None:
        return hidden["synced"] or hidden["rsynced"], False
    match = _LEFTOVER.fullmatch(name)
    return None if match is None else (match["twin"], match["control"] is not None)


def is_companion(name: str) -> bool:
    """Tell whether a file belongs to a model without being one: a vision projector, an importance matrix."""
    return bool(_COMPANION.search(name))


def is_model(name: str) -> bool:
    """Tell whether a name is that of a model or one of its shards."""
    return _MODEL.fullmatch(name) is not None and not is_companion(name)


def is_blob(name: str) -> bool:
    """Tell whether a name is that of a blob in a Hugging Face cache: the SHA-256 of its content."""
    return _BLOB.fullmatch(name) is not None
