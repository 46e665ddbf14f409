"""A run's outcomes as text: one failure, the table, the closing line. No colours: CI logs are read as plain text."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from streamworthy.report.visible import visible
from streamworthy.verdict import Closing, Word

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from streamworthy.verdict import Outcome

_WIDEST_CELL = 52


def first_line(gate: str, outcome: Outcome) -> str:
    """Say in one line what was found and what was asked; complete alone."""
    found = outcome.verdict
    word = found.word
    if word is Word.NOT_APPLICABLE:
        seen = "" if found.measured == "-" else f" ({found.measured})"
        return f"{gate}: does not apply: {found.cause}{seen}"
    if word is Word.WAIVED:
        return f"{gate}: waived: {found.cause} (measured {found.measured})"
    asked = f", {found.required} required" if found.required else ""
    if word is Word.ERROR:
        return f"{gate}: could not be decided: {found.cause}{asked}"
    head = f"{gate}: {found.measured}{asked}"
    return f"{head}: inconclusive: {found.cause}" if word is Word.INCONCLUSIVE else head


def failure_text(gate: str, outcome: Outcome) -> str:
    """Write what did not pass: the line, why it matters, the cause, the fix, and where the limit stands."""
    found = outcome.verdict
    rows = [("why", outcome.why)]
    if found.word is Word.FAIL or found.word is Word.ADVICE:
        rows.append(("cause", found.cause))
    rows += [("fix" if number == 0 else "", line) for number, line in enumerate(found.fix)]
    rows.append(("see", outcome.see))
    return visible("\n".join([first_line(gate, outcome), *(f"  {name:6}{text}" for name, text in rows if text)]))


def summary_lines(outcomes: Mapping[str, Outcome]) -> Iterator[str]:
    """Write the table of all gates, in the order they were asked: word, gate, measured, required."""
    rows = [("", "gate", "measured", "required")]
    rows += [
        (str(outcome.verdict.word), gate, _measured(outcome), _cell(outcome.verdict.required))
        for gate, outcome in outcomes.items()
    ]
    widths = [max(len(_cell(row[column])) for row in rows) for column in range(4)]
    for row in rows:
        yield visible("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def advice_lines(outcomes: Mapping[str, Outcome]) -> Iterator[str]:
    """Write what is waived, with the waiver's reason, and what is advised, each with its cause and its first fix."""
    yield from map(visible, _advice_lines(outcomes))


def _advice_lines(outcomes: Mapping[str, Outcome]) -> Iterator[str]:
    advised = [(gate, outcome) for gate, outcome in outcomes.items() if outcome.verdict.word is Word.ADVICE]
    waived = [(gate, outcome) for gate, outcome in outcomes.items() if outcome.verdict.word is Word.WAIVED]
    if advised or waived:
        yield ""
    for gate, outcome in waived:
        yield f"waived  {gate}: {outcome.verdict.cause} (measured {outcome.verdict.measured})"
    for gate, outcome in advised:
        yield f"advice  {first_line(gate, outcome)}"
        if outcome.verdict.cause:
            yield f"        {outcome.verdict.cause}"
        yield from (f"        fix: {line}" for line in outcome.verdict.fix[:1])


def closing_line(closing: Closing, scope: str, outcomes: Mapping[str, Outcome]) -> str:
    """Say the closing word, what it covers, and how many gates stand behind it."""
    counts = Counter(outcome.verdict.word for outcome in outcomes.values())
    told = ", ".join(f"{counts[word]} {word}" for word in Word if counts[word])
    return visible(f"{closing}: {scope}: {told or 'nothing was checked'}")


def _measured(outcome: Outcome) -> str:
    found = outcome.verdict
    if found.word is Word.NOT_APPLICABLE:  # nothing stands behind it, and its reason nowhere else
        return found.cause if found.measured == "-" else f"{found.measured}: {found.cause}"
    return _cell(found.cause if found.word is Word.ERROR and found.measured == "unknown" else found.measured)


def _cell(text: str) -> str:
    text = text.partition("\n")[0]
    return text if len(text) <= _WIDEST_CELL else f"{text[: _WIDEST_CELL - 3]}..."
