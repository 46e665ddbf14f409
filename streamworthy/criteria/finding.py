"""One gate over several disks or volumes: each is judged alone, the worst decides, all are named. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamworthy.verdict import Verdict, Word, not_applicable, verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_FROM_WORST = (Word.FAIL, Word.INCONCLUSIVE, Word.ERROR, Word.ADVICE, Word.PASS, Word.NOT_APPLICABLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was found on one disk or volume; ``measured`` names it: ``ext4 at /home``."""

    word: Word
    measured: str
    cause: str
    fix: tuple[str, ...]


def worst(  # noqa: PLR0913 - a verdict's optional parts, passed on
    findings: Sequence[Finding],
    *,
    required: str,
    value: float | None = None,
    unit: str = "",
    samples: tuple[float, ...] = (),
    evidence: tuple[str, ...] = (),
) -> Verdict:
    """Join findings into one verdict; cause and fix are those of the findings with the deciding word."""
    word = min((each.word for each in findings), key=_FROM_WORST.index, default=Word.NOT_APPLICABLE)
    deciding = [each for each in findings if each.word is word]
    measured = "; ".join(_unique(each.measured for each in findings))
    cause = "; ".join(_unique(each.cause for each in deciding if each.cause))
    if word is Word.NOT_APPLICABLE:
        return not_applicable(cause or "no volume holds the model", measured=measured or "-")
    return verdict(
        word,
        measured=measured,
        required=required,
        value=value,
        unit=unit,
        samples=samples,
        cause=cause,
        fix=_unique(line for each in deciding for line in each.fix),
        evidence=evidence,
    )


def _unique(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(lines))
