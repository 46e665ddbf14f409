"""Is the engine's greedy answer one that a working model gives? Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamworthy.facts.episode import Answers

_FEWEST_DISTINCT_SHARE = 0.25  # broken weights repeat one or two tokens; greedy text of small models has half distinct


def answer_fault(answers: Answers) -> str:
    """Say what is wrong with the answers; "" when nothing is, or when there are none."""
    if not answers.tokens:
        return ""
    first = answers.tokens[0]
    if answers.reference is not None and first != answers.reference:
        return f"the sample model answers {list(first)}, its stored reference is {list(answers.reference)}"
    for number, other in enumerate(answers.tokens[1:], start=2):
        if other != first:
            return f"the answer to one prompt changes: episode {number} says {list(other)}, episode 1 {list(first)}"
    if answers.reference is None and len(set(first)) < len(first) * _FEWEST_DISTINCT_SHARE:
        return f"the answer is degenerate: {len(set(first))} distinct tokens of {len(first)}"
    return ""
