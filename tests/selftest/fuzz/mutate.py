"""Changes inputs: bytes of binary files, pieces and lines of texts. The same seed gives the same changes."""

from __future__ import annotations

import struct

NUMBERS = tuple(
    struct.pack(layout, value & (2 ** (8 * size) - 1))
    for layout, size in (("<I", 4), ("<Q", 8))
    for value in (0, 1, 2, 3, 4, 8, 9, 12, 13, 31, 64, 255, 2**16, 2**24, 2**31 - 1, 2**31, 2**32 - 1)
) + tuple(struct.pack("<Q", value) for value in (2**22, 2**30, 2**32, 2**40, 2**61, 2**62, 2**63 - 1, 2**63, 2**64 - 1))
PIECES = (
    "", " ", "\t", "\0", "-", ":", ",", "/", "\\", "\\040", "\\777", "..", "-1", "0", "00", "1", "9" * 19, "9" * 400,
    "0x10", "1e9", "\u00b2", "\u0663", "\u2460", "\udc80", "\x1c", "\x85", "\u2028", "\r", "max", "unlimited", "kB",
    " kB", "nan", "inf", "[", "]", "{", "}", '"', "'", "=", "#", "%", "GiB", "true",
    "1970-13-01", "2026-12-31", "A" * 300,
)  # fmt: skip


def change_bytes(rng, raw, other):
    """Change, drop, repeat or splice a few bytes, or cut; ``other`` is a second input to take from."""
    out = bytearray(raw)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 5))):
        if not out:
            break
        at, kind = rng.randrange(len(out)), rng.random()
        if kind < 0.25:
            out[at] = rng.getrandbits(8)
        elif kind < 0.4:
            out[at] ^= 1 << rng.randrange(8)
        elif kind < 0.75:
            number = rng.choice(NUMBERS)
            out[at : at + len(number)] = number
        elif kind < 0.82:
            del out[at : at + rng.choice((1, 2, 4, 8, 30))]
        elif kind < 0.88:
            out[at:at] = out[at : at + rng.choice((1, 4, 8, 30))]
        elif kind < 0.92:
            place = rng.randrange(len(other)) if other else 0
            out[at:at] = other[place : place + rng.choice((8, 40, 200))]
        else:
            del out[at:]
    return bytes(out)


def change_text(rng, text, other):
    """Change, drop, double, swap or splice characters, words and lines."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 5))):
        kind, at = rng.random(), rng.randrange(len(text) + 1)
        if kind < 0.35:
            text = text[:at] + rng.choice(PIECES) + text[at + rng.choice((0, 0, 1, 2, 8)) :]
        elif kind < 0.6:
            text = _change_word(rng, text)
        elif kind < 0.85:
            text = _change_line(rng, text, other)
        elif kind < 0.93:
            text = text[:at] + text[at + rng.choice((1, 2, 8, 40)) :]
        else:
            text = text[:at]
    return text


def _change_word(rng, text):
    words = text.split(" ")
    at = rng.randrange(len(words))
    words[at] = rng.choice((rng.choice(PIECES), rng.choice(words), words[at] + rng.choice(PIECES)))
    return " ".join(words)


def _change_line(rng, text, other):
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    change = rng.randrange(4)
    if change == 0:
        del lines[at]
    elif change == 1:
        lines[at:at] = [lines[rng.randrange(len(lines))]]
    elif change == 2:
        lines[at] = rng.choice(other.split("\n"))
    else:
        lines[at] = rng.choice(PIECES)
    return "\n".join(lines)
