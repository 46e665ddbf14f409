"""What a gate may ask for: each criterion declares the bounds that a tier must and may give it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from streamworthy.verdict import Verdict, Word, verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from streamworthy.units import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """One key that a tier gives a gate: its kind, and whether the tier may leave it out."""

    kind: Kind
    optional: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """What a tier requires of one gate.

    ``values`` maps a bound's name (``at_least``, ``at_most``, ...) to its value in the canonical unit of its kind.
    ``level`` is ``require``, ``advise`` or ``not_applicable``; ``unknown`` is ``error`` or ``advise``.
    ``see`` is the file and key, for messages.
    """

    gate: str
    level: str
    unknown: str
    values: Mapping[str, Any]
    reason: str
    basis: str  # how a performance number was arrived at; empty for other gates
    see: str


class Criterion(Protocol):
    """A pure judge: facts and a limit in, a verdict out. ``bounds`` is set by :func:`bounds`."""

    bounds: Mapping[str, Bound]
    __name__: str

    def __call__(self, *args: Any, **kwargs: Any) -> Verdict:  # noqa: ANN401 - facts differ from gate to gate
        """Judge; the last argument is the Limit."""


def required(kind: Kind) -> Bound:
    """Declare a bound that every tier has to give."""
    return Bound(kind=kind, optional=False)


def optional(kind: Kind) -> Bound:
    """Declare a bound that a tier may leave out."""
    return Bound(kind=kind, optional=True)


def bounds(**declared: Bound) -> Callable[[Callable[..., Verdict]], Criterion]:
    """Declare a criterion's bounds; the tier schema is made from these declarations."""

    def mark(function: Callable[..., Verdict]) -> Criterion:
        function.bounds = declared  # type: ignore[attr-defined]
        return function  # type: ignore[return-value]

    return mark


def format_required(kind: Kind, limit: Limit) -> str:
    """Write the numeric bounds of a limit as people read them: ``at least 14.0 GiB, at most 28.0 GiB``."""
    words = [
        f"{name.replace('_', ' ')} {kind.format(limit.values[name])}"
        for name in ("at_least", "at_most")
        if name in limit.values
    ]
    return ", ".join(words)


def within(  # noqa: PLR0913 - a bounded number's verdict needs its number, its limit and what to say
    value: float,
    limit: Limit,
    kind: Kind,
    *,
    samples: tuple[float, ...] = (),
    cause: str = "",
    fix: tuple[str, ...] = (),
    evidence: tuple[str, ...] = (),
) -> Verdict:
    """Judge a number against ``at_least`` and ``at_most``, both inclusive. ``cause`` and ``fix`` are for a miss."""
    low, high = limit.values.get("at_least"), limit.values.get("at_most")
    sound = (low is None or value >= low) and (high is None or value <= high)
    return verdict(
        Word.PASS if sound else Word.FAIL,
        measured=kind.format(value),
        required=format_required(kind, limit),
        value=value,
        unit=kind.unit,
        samples=samples,
        cause="" if sound else cause,
        fix=() if sound else fix,
        evidence=evidence,
    )


def doubtful(found: Verdict, limit: Limit, cause: str, fix: tuple[str, ...] = ()) -> Verdict:
    """Take a number back that may be better than what it stands for: a pass becomes inconclusive.

    A miss stays one, since help from elsewhere made it better and not worse. Where the tier only advises, the doubt is
    advice: it cannot leave a run undecided that the number itself could not fail.
    """
    if found.word is not Word.PASS:
        return replace(found, evidence=(*found.evidence, f"doubt={cause}"))
    word = Word.ADVICE if limit.level == "advise" else Word.INCONCLUSIVE
    return replace(found, word=word, cause=cause, fix=fix)
