"""Text as a terminal may have it: names of files and models can hold sequences that move its cursor or rename it."""

from __future__ import annotations

import re

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")  # and what reverses a line's direction


def visible(text: str) -> str:
    r"""Give a text with control characters, but for newline and tab, as Python writes them: ``\x1b``."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)
