"""Whether a change made on purpose bears out the cause that counters suspect. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

from streamworthy.facts.cause import Cause
from streamworthy.facts.intervention import Change
from streamworthy.units import format_ratio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamworthy.criteria.bottleneck import Bottleneck
    from streamworthy.facts.intervention import Intervention

_FASTER, _SLOWER = 1.25, 0.85  # of the windows before: beyond what random routing does to a window
_LESS_READ, _MORE_READ = 0.6, 1.1
_COMPUTE_SLOWER = 0.8  # with half the threads; memory bandwidth and waiting suffer less


@dataclass(frozen=True, slots=True, kw_only=True)
class _Effect:
    """What one change has to do to the speed or to the bytes read, at least in the median round."""

    change: Change
    rate_at_least: float = 0.0
    rate_at_most: float = float("inf")
    read_at_least: float = 0.0
    read_at_most: float = float("inf")

    def shown_by(self, rate: float, read: float | None) -> bool:
        """Tell whether these ratios are what the change has to do; ``read`` is None where nothing was read."""
        if not self.rate_at_least <= rate <= self.rate_at_most:
            return False
        asks_reads = self.read_at_least > 0 or self.read_at_most < float("inf")
        return not asks_reads or (read is not None and self.read_at_least <= read <= self.read_at_most)


# Any of a cause's effects bears it out.
_EFFECTS: dict[Cause, tuple[_Effect, ...]] = {
    Cause.READ_AHEAD: (_Effect(change=Change.NO_READ_AHEAD, read_at_most=_LESS_READ),),
    Cause.MEMORY_CAPACITY: (
        _Effect(change=Change.LESS_MEMORY, rate_at_most=_SLOWER, read_at_least=_MORE_READ),
        _Effect(change=Change.SAME_TEXT, rate_at_least=_FASTER, read_at_most=_LESS_READ),
    ),
    Cause.DISK: (
        _Effect(change=Change.SAME_TEXT, rate_at_least=_FASTER, read_at_most=_LESS_READ),
        _Effect(change=Change.READER, rate_at_most=_SLOWER),
    ),
    Cause.COMPUTE: (_Effect(change=Change.HALF_THREADS, rate_at_most=_COMPUTE_SLOWER),),
    Cause.MEMORY_BANDWIDTH: (_Effect(change=Change.HALF_THREADS, rate_at_least=_COMPUTE_SLOWER),),
}
CONFIRMED = frozenset(_EFFECTS)  # causes that a change can bear out


def confirm(suspected: Bottleneck, made: Sequence[Intervention]) -> Bottleneck:
    """Give the cause as confirmed, with the effect that shows it; else as it was, with what did not show."""
    effects = _EFFECTS.get(suspected.word, ())
    tried = [(effect, found) for effect in effects for found in made if found.change is effect.change]
    done = [(effect, found) for effect, found in tried if found.rate_ratios]
    for effect, found in done:
        read = median(found.read_ratios) if found.read_ratios else None
        if effect.shown_by(median(found.rate_ratios), read):
            return replace(suspected, confirmed=True, reason=f"{suspected.reason}; {describe(found)}")
    if not done:
        return suspected
    told = "; ".join(dict.fromkeys(describe(found) for _, found in done))
    return replace(suspected, reason=f"{suspected.reason}; a change made on purpose does not bear it out: {told}")


def remedies(made: Sequence[Intervention], threads: int) -> tuple[str, ...]:
    """Give what made the engine faster, as something to do for good."""
    lines = {
        Change.HALF_THREADS: f"in [engine]: threads = {threads // 2}    # {Change.HALF_THREADS} were faster",
        Change.HELD: "streamworthy cache hold --dense MODEL    # in another terminal: it was faster so",
    }
    faster = [found.change for found in made if found.rate_ratios and median(found.rate_ratios) >= _FASTER]
    return tuple(line for change, line in lines.items() if change in faster)


def describe(found: Intervention) -> str:
    """Write what a change did: ``with half the threads 0.62x the speed``."""
    if not found.rate_ratios:
        return f"{found.change}: not tried, {found.refused}"
    read = f", {format_ratio(median(found.read_ratios))} the bytes read" if found.read_ratios else ""
    return f"with {found.change} {format_ratio(median(found.rate_ratios))} the speed{read}"
