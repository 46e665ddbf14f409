"""Reads the names of pieces of old uploads: one file that was cut without headers and has to be joined with cat.

Forms: TheBloke's ``.gguf-split-a``, mradermacher's ``.gguf.part1of2``, and what split(1) and file managers make of a
``.gguf``: ``.aa``, ``-aa``, ``.000``, ``.00``, ``.part01``, ``_part_00``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from streamworthy.gguf.names import parse_leftover

if TYPE_CHECKING:
    from collections.abc import Iterable

_PIECE = re.compile(
    r"(?P<whole>.+\.gguf)[-._](?P<word>(?:split|part)[-._]?)?"
    r"(?:(?P<letters>[a-z]{1,2})|(?P<number>\d{1,5})(?:[-_]?of[-_]?(?P<total>\d{1,5}))?)",
    re.IGNORECASE,
)
_ENDINGS = frozenset({"br", "bz", "db", "gz", "js", "lz", "md", "py", "so", "xz"})  # two letters that name a format
_LETTERS = 26
_MOST = 99_999


class Piece(NamedTuple):
    """A name taken apart. ``place`` orders the pieces of a file: the letters or the number of its name."""

    name: str
    whole: str  # the name of the joined file
    place: int
    total: int  # of "part1of2"; 0 when the name does not tell
    lettered: bool  # letters count from a, numbers from 0 or 1


def parse_piece(name: str) -> Piece | None:
    """Take the name of a piece apart; None for any other name."""
    match = _PIECE.fullmatch(name)
    if match is None or parse_leftover(name):
        return None
    letters, number, total = match["letters"], match["number"], match["total"]
    if letters and (match["word"] or (len(letters) == 2 and letters.lower() not in _ENDINGS)):  # noqa: PLR2004
        place = 0
        for letter in letters.lower():
            place = place * _LETTERS + ord(letter) - ord("a")
        return Piece(name, match["whole"], place, 0, lettered=True)
    if number and (match["word"] or total or len(number) > 1):  # X.gguf.1 is wget's second copy
        return Piece(name, match["whole"], int(number), int(total or 0), lettered=False)
    return None


def number_pieces(names: Iterable[str], whole: str) -> tuple[dict[int, str], int]:
    """Give the pieces of one file numbers from 1 on, in the order in which they are joined.

    Gives the names by number, and how many there are if the names tell it, else the last one's number.
    """
    pieces = sorted(
        (piece for name in names if (piece := parse_piece(name)) and piece.whole == whole),
        key=lambda piece: (piece.place, piece.name),
    )
    first = 0 if any(piece.lettered or piece.place == 0 for piece in pieces) else 1
    found: dict[int, str] = {}
    for piece in pieces:
        found.setdefault(piece.place - first + 1, piece.name)
    total = max((piece.total for piece in pieces), default=0)
    return found, min(max(total, *found, 1), _MOST)
