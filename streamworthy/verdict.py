"""The words of a qualification: one verdict per gate, one closing verdict per run. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Word(StrEnum):
    """What became of one gate."""

    PASS = "pass"  # noqa: S105
    FAIL = "FAIL"
    ADVICE = "advice"
    INCONCLUSIVE = "inconclusive"
    ERROR = "error"
    WAIVED = "waived"
    NOT_APPLICABLE = "n/a"


class Closing(StrEnum):
    """What became of the run."""

    QUALIFIED = "QUALIFIED"
    NOT_QUALIFIED = "NOT QUALIFIED"
    UNDECIDED = "UNDECIDED"
    PARTIAL = "PARTIAL"


EXIT_CODES = {Closing.QUALIFIED: 0, Closing.NOT_QUALIFIED: 1, Closing.UNDECIDED: 10, Closing.PARTIAL: 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One gate's outcome, with what was measured and what was asked.

    ``measured`` and ``required`` are for people; ``value`` is ``measured`` in ``unit`` (canonical, see units.py),
    None where the fact is not one number. ``samples`` are the raw values behind ``value``, in the order taken.
    ``cause`` names what is behind a word other than pass, or why the gate does not apply; ``fix`` holds
    paste-ready lines; ``evidence`` holds ``key=value`` facts kept with the number (cache state, bytes read ...).
    """

    word: Word
    measured: str
    required: str
    value: float | None
    unit: str
    samples: tuple[float, ...]
    cause: str
    fix: tuple[str, ...]
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A gate's verdict with what surrounds it in a report.

    ``why`` is the gate's reason; ``see`` is the file and key of its limit; ``level`` is the tier's, empty for the case
    of a run that could not begin; ``bounds`` holds the name and the value of each bound, as text.
    """

    gate: str
    verdict: Verdict
    why: str
    see: str
    level: str
    bounds: tuple[tuple[str, str], ...]


def verdict(  # noqa: PLR0913 - the one place where a verdict's optional parts get their empty values
    word: Word,
    *,
    measured: str,
    required: str = "",
    value: float | None = None,
    unit: str = "",
    samples: tuple[float, ...] = (),
    cause: str = "",
    fix: tuple[str, ...] = (),
    evidence: tuple[str, ...] = (),
) -> Verdict:
    """Build a verdict; parts that do not apply are empty."""
    return Verdict(
        word=word,
        measured=measured,
        required=required,
        value=value,
        unit=unit,
        samples=samples,
        cause=cause,
        fix=fix,
        evidence=evidence,
    )


def not_applicable(reason: str, *, measured: str = "-") -> Verdict:
    """Say that a gate does not apply here, and why; a value that was seen anyway is shown."""
    return verdict(Word.NOT_APPLICABLE, measured=measured, cause=reason)


def unknown(message: str, fix: str = "") -> Verdict:
    """Say that a fact could not be learned."""
    return verdict(Word.ERROR, measured="unknown", cause=message, fix=tuple(fix.splitlines()))


def soften(found: Verdict, *, level: str, unknown: str) -> Verdict:
    """Turn FAIL or error into advice where the tier only advises (``level``) or allows the unknown (``unknown``)."""
    if found.word is Word.FAIL and level == "advise":
        return replace(found, word=Word.ADVICE)
    if found.word is Word.ERROR and unknown == "advise":
        return replace(found, word=Word.ADVICE)
    return found


def close(words: Iterable[Word], *, complete: bool) -> Closing:
    """Close a run from its gates' words.

    ``complete`` is False when only a part was asked: a subset of the tier's gates, a captured machine, or the
    sample model. A run in which nothing was checked decides nothing.
    """
    seen = set(words)
    if Word.FAIL in seen:
        return Closing.NOT_QUALIFIED
    if seen & {Word.ERROR, Word.INCONCLUSIVE} or not seen & {Word.PASS, Word.ADVICE, Word.WAIVED}:
        return Closing.UNDECIDED
    return Closing.QUALIFIED if complete else Closing.PARTIAL
