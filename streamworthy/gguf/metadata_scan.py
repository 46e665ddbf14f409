"""Reads every text in the keys of a model's headers and looks for leaks in it; vocabularies are left out.

A vocabulary holds whatever stood in the training text often enough, paths and addresses of strangers included.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from streamworthy.facts.gguf import SkippedValue
from streamworthy.facts.integrity import MetadataLeak, MetadataScan
from streamworthy.gguf.cursor import U64, Broken, Cursor, unreadable
from streamworthy.gguf.leaks import SECRETS, find_leaks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from streamworthy.facts.gguf import HeaderFacts

_VOCABULARY = "tokenizer.ggml."
_TEMPLATE = "chat_template"
_LONGEST_BYTES = 2**20  # of one text, and of one array of texts
_SHORTEST_SECRET = 6  # what is shorter is found in too many words to be replaced everywhere


class _Text(NamedTuple):
    path: Path
    key: str
    text: str
    whole: bool  # False: only its beginning was read


def scan_metadata(headers: Mapping[Path, HeaderFacts]) -> MetadataScan:
    """Look for leaks in the headers of these files. ProbeError when a file cannot be read again."""
    texts = [text for path, header in headers.items() for text in _texts(path, header)]
    leaks = {
        MetadataLeak(
            file=text.path.name, key=text.key, kind=leak.kind, shown=leak.shown, secret=leak.kind in SECRETS
        ): None
        for text in texts
        for leak in find_leaks(text.text, template=_TEMPLATE in text.key)
    }
    return MetadataScan(
        key_count=len({(text.path, text.key) for text in texts}),
        leaks=tuple(leaks),
        cut=tuple(f"{text.path.name}: {text.key}" for text in texts if not text.whole),
    )


def leaking_texts(headers: Mapping[Path, HeaderFacts]) -> dict[str, str]:
    """Map each leak to what may be written in its place, for everything that a run writes."""
    return {
        text.text[leak.start : leak.end]: leak.shown
        for path, header in headers.items()
        for text in _texts(path, header)
        for leak in find_leaks(text.text, template=_TEMPLATE in text.key)
        if leak.end - leak.start >= _SHORTEST_SECRET
    }


def _texts(path: Path, header: HeaderFacts) -> Iterator[_Text]:
    """Give the texts of one header, those of arrays and very long ones from the file."""
    long: list[tuple[str, SkippedValue]] = []
    for key, value in header.keys.items():
        if key.startswith(_VOCABULARY):
            continue
        if isinstance(value, str):
            yield _Text(path, key, value, whole=True)
        elif isinstance(value, SkippedValue) and header.key_types[key] in ("str", "arr[str]"):
            long.append((key, value))
    if long:
        yield from _long_texts(path, header, long)


def _long_texts(path: Path, header: HeaderFacts, values: list[tuple[str, SkippedValue]]) -> Iterator[_Text]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise unreadable(path, error) from error
    try:
        cursor = Cursor(descriptor, header.header_bytes)
        for key, value in values:
            cursor.position = value.offset_bytes
            yield from _elements(path, key, value, cursor)
    except (OSError, Broken) as error:
        raise unreadable(path, error if isinstance(error, OSError) else OSError("changed meanwhile")) from error
    finally:
        os.close(descriptor)


def _elements(path: Path, key: str, value: SkippedValue, cursor: Cursor) -> Iterator[_Text]:
    if value.type_name == "u8":  # one long text
        yield _read(path, key, value.count, cursor)
        return
    end = cursor.position + _LONGEST_BYTES
    for _ in range(value.count):
        (length,) = cursor.take(U64, key)
        following = cursor.position + length
        text = _read(path, key, length, cursor)
        cursor.position = following
        yield text._replace(whole=text.whole and following <= end)
        if following > end:
            return


def _read(path: Path, key: str, length: int, cursor: Cursor) -> _Text:
    raw = cursor.take_bytes(min(length, _LONGEST_BYTES), key)
    return _Text(path, key, raw.decode("utf-8", "backslashreplace"), whole=length <= _LONGEST_BYTES)
