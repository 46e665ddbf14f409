"""The sample's tokenizer: byte-level BPE in which every word of the shipped text is one token.

GPT-2's scheme (``tokenizer.ggml.model = gpt2``, ``pre = gpt-2``): 256 byte tokens make any text round-trip; merges
build each word from its left, so that the vocabulary is the set of the words' prefixes and needs no training.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from streamworthy.sample.text import passages

ANSWER_PROMPT = "Where does a huge model live when memory is small?"
ANSWER_TEXT = " Each token wakes a few experts in every layer, and only their pages travel from the drive into memory."
END_OF_TEXT = "<|endoftext|>"

_PIECE = re.compile(r" ?[A-Za-z]+|[^A-Za-z]")  # GPT-2's split, as far as the shipped text needs it
# GPT-2 shows bytes that do not print as letters from U+0100 on; the others stand for themselves.
_PRINTING = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """Tokens by id in GPT-2's spelling, merges by rank, and for each id the token that greedy decoding says next."""

    tokens: tuple[str, ...]
    merges: tuple[str, ...]
    successors: tuple[int, ...]  # a single cycle over all ids but the last, which is END_OF_TEXT and its own successor


@cache
def build_vocabulary() -> Vocabulary:
    """Build the vocabulary, the same on every machine."""
    words = {_spell(piece) for text in (*passages(), ANSWER_PROMPT, ANSWER_TEXT) for piece in _PIECE.findall(text)}
    prefixes = {word[:length] for word in words for length in range(2, len(word) + 1)}
    # The space's merges come first: " The" must start as space + T although a bare "The" has a merge T + h.
    ordered = sorted(prefixes, key=lambda prefix: (len(prefix), prefix[0] != _spell(" "), prefix))
    tokens = (*_BYTE_SPELLINGS, *ordered, END_OF_TEXT)
    return Vocabulary(
        tokens=tokens,
        merges=tuple(f"{prefix[:-1]} {prefix[-1]}" for prefix in ordered),
        successors=_chain(tokens),
    )


def encode(text: str) -> tuple[int, ...]:
    """Give the ids of a shipped text: one a word or mark, as the engine's tokenizer does. KeyError for other words."""
    ids = {token: number for number, token in enumerate(build_vocabulary().tokens)}
    return tuple(ids[_spell(piece)] for piece in _PIECE.findall(text))


def _chain(tokens: tuple[str, ...]) -> tuple[int, ...]:
    """Let the prompt's end lead through the answer, then through all other tokens once, and back.

    One cycle means that a greedy walk visits every token before it repeats one.
    """
    ids = {token: number for number, token in enumerate(tokens)}
    spoken = [piece for text in (ANSWER_PROMPT[-1], ANSWER_TEXT, *passages()) for piece in _PIECE.findall(text)]
    order = list(dict.fromkeys([*(ids[_spell(piece)] for piece in spoken), *range(len(tokens) - 1)]))
    successors = dict(zip(order, [*order[1:], order[0]], strict=True))
    return (*(successors[number] for number in range(len(tokens) - 1)), len(tokens) - 1)


def _byte_spellings() -> tuple[str, ...]:
    hidden = [byte for byte in range(256) if byte not in _PRINTING]
    return tuple(chr(byte if byte in _PRINTING else 0x100 + hidden.index(byte)) for byte in range(256))


_BYTE_SPELLINGS = _byte_spellings()


def _spell(text: str) -> str:
    return "".join(_BYTE_SPELLINGS[byte] for byte in text.encode())
