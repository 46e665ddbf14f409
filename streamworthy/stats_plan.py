"""When to look at the episodes and how many must agree: a group-sequential sign test of known error. Pure.

Each episode meets the limit or misses it. When the machine's true median is exactly the limit, either has a chance of
one half whatever the distribution, so the chance of a false word is a count of paths of a fair coin, computed here
exactly, path by path. One critical chance for all looks: Pocock, Biometrika 64 (1977). Over several gates: Bonferroni.

A value equal to the limit meets it, as bounds are inclusive. That keeps both errors at or below the stated one: if the
median meets the limit, at least half of the episodes do, ties included; if it misses it, more than half miss it.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from math import comb
from typing import TYPE_CHECKING

from streamworthy.units import format_share

if TYPE_CHECKING:
    from collections.abc import Iterable

FAMILY_ERROR_SHARE = 0.05
# Five episodes are the fewest that decide at 5 % (1/32); 7 of 8 after 5 of 5 would already exceed 5 % in all.
_QUICK = ((5, 5), (9, 8), (15, 13))
_LOOK_COUNTS = (7, 9, 12, 15, 20, 25, 30)


class Step(StrEnum):
    """What a series of episodes says so far; all but ``continue`` are final, and words of a verdict."""

    PASS = "pass"  # noqa: S105 - a word of a verdict
    FAIL = "FAIL"
    CONTINUE = "continue"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """At ``count`` episodes, ``critical_count`` that meet the limit pass it, as many that miss it fail it."""

    count: int
    critical_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Odds:
    """What becomes of a machine whose episodes meet the limit with one given chance, independently."""

    pass_share: float
    fail_share: float
    inconclusive_share: float
    mean_count: float  # episodes until the word


@dataclass(frozen=True, slots=True, kw_only=True)
class SequentialPlan:
    """A decision rule, and its exact error.

    ``error_share`` is the chance of a false FAIL for a machine whose true median is the limit, and as much that of a
    false pass: per gate and per direction. A better machine is failed less often, a worse one passed less often.
    """

    depth: str
    gates_count: int
    looks: tuple[Look, ...]
    error_share: float

    @property
    def family_error_share(self) -> float:
        """Chance of at least one false word among all gates, at most: gates that share episodes included."""
        return min(1.0, self.gates_count * self.error_share)

    @property
    def independent_family_error_share(self) -> float:
        """The same chance, exactly, where the gates share no episodes."""
        return 1 - (1 - self.error_share) ** self.gates_count

    @property
    def summary(self) -> str:
        """Say the rule and its error in one line."""
        looks = ", ".join(f"{look.critical_count}/{look.count}" for look in self.looks)
        return (
            f"decided by {looks} episodes; chance of a false FAIL, and of a false pass: at most "
            f"{self.error_share * 100:.2f} % per gate, {format_share(self.family_error_share)} over all "
            f"({self.gates_count})"
        )

    def needed(self, count: int) -> int | None:
        """Give the number of episodes at the next look after ``count``; None after the last."""
        return next((look.count for look in self.looks if look.count > count), None)

    def critical_count(self, count: int) -> int | None:
        """Give how many of ``count`` episodes decide; None where the plan does not look."""
        return next((look.critical_count for look in self.looks if look.count == count), None)

    def step(self, count: int, meeting_count: int) -> Step:
        """Say what ``meeting_count`` of ``count`` episodes mean, if nothing was decided before.

        Inconclusive as soon as no later look can decide any more: that costs no error, and spares the episodes.
        """
        leading = max(meeting_count, count - meeting_count)
        critical = self.critical_count(count)
        if critical is not None and leading >= critical:
            return Step.PASS if meeting_count == leading else Step.FAIL
        later = (look for look in self.looks if look.count > count)
        open_still = any(leading + look.count - count >= look.critical_count for look in later)
        return Step.CONTINUE if open_still else Step.INCONCLUSIVE

    def walk(self, meeting: Iterable[bool]) -> tuple[Step, int]:
        """Follow episodes in order to the first final step; give it and the episodes it rests on.

        What comes after a final step changes nothing.
        """
        count = met = 0
        for count, meets in enumerate(meeting, start=1):
            met += meets
            step = self.step(count, met)
            if step is not Step.CONTINUE:
                return step, count
        return Step.CONTINUE, count

    def odds(self, meeting_share: float) -> Odds:
        """Compute exactly what becomes of a machine whose episodes meet the limit with this chance."""
        ended = dict.fromkeys(Step, 0.0)
        mean_count = 0.0
        open_paths = {0: 1.0}  # episodes that met the limit -> chance, undecided so far
        for count in range(1, self.looks[-1].count + 1):
            grown = _grow(open_paths, meeting_share)
            open_paths = {}
            for met, chance in grown.items():
                step = self.step(count, met)
                if step is Step.CONTINUE:
                    open_paths[met] = chance
                else:
                    ended[step] += chance
                    mean_count += chance * count
        return Odds(
            pass_share=ended[Step.PASS],
            fail_share=ended[Step.FAIL],
            inconclusive_share=ended[Step.INCONCLUSIVE],
            mean_count=mean_count,
        )


def _grow(paths: dict[int, float], meeting_share: float) -> dict[int, float]:
    """Add one episode to every path."""
    grown: dict[int, float] = {}
    for met, chance in paths.items():
        grown[met] = grown.get(met, 0.0) + chance * (1 - meeting_share)
        grown[met + 1] = grown.get(met + 1, 0.0) + chance * meeting_share
    return grown


def tail_share(count: int, at_least: int) -> float:
    """Give the chance that a fair coin falls heads ``at_least`` times in ``count``."""
    return sum(comb(count, heads) for heads in range(at_least, count + 1)) / (1 << count)


def plan_of(depth: str, gates: int, looks: Iterable[tuple[int, int]]) -> SequentialPlan:
    """Make a plan of (episodes, critical count) pairs in rising order, and compute its error.

    A look that can decide nothing that was not decided before is left out: its episodes would be waited for in vain.
    """
    kept: list[Look] = []
    for count, critical in looks:
        before = kept[-1] if kept else Look(count=0, critical_count=1)
        if critical - (count - before.count) < before.critical_count:
            kept.append(Look(count=count, critical_count=critical))
    bare = SequentialPlan(depth=depth, gates_count=gates, looks=tuple(kept), error_share=0.0)
    error = bare.odds(0.5).fail_share if kept else 0.0
    return SequentialPlan(depth=depth, gates_count=gates, looks=tuple(kept), error_share=error)


def plan_at(depth: str, gates: int, look_error_share: float) -> SequentialPlan:
    """Make the plan that decides at each look where a fair coin would lead so far with at most this chance."""
    pairs = []
    for count in _LOOK_COUNTS:
        fewest = (heads for heads in range(count // 2 + 1, count + 1) if tail_share(count, heads) <= look_error_share)
        pairs.append((count, next(fewest, count + 1)))
    return plan_of(depth, gates, pairs)


@lru_cache
def plan_for(depth: str, gates: int) -> SequentialPlan:
    """Give the rule for a depth and the number of statistical gates that share the family error.

    ``standard`` and ``full``: the widest plan whose family error is at most 5 %. ``quick``: three early looks for
    slow machines, at most 5 % per gate; its family error grows with the gates and is to be printed. Raises ValueError.
    """
    if gates < 1:
        raise ValueError(f"gates: found {gates}, expected at least 1")
    if depth == "quick":
        return plan_of(depth, gates, _QUICK)
    if depth not in ("standard", "full"):
        raise ValueError(f"depth: found {depth!r}, expected quick, standard or full")
    # Only these chances change a critical count. A wider one decides more often, so the error rises along the list.
    steps = sorted({tail_share(count, heads) for count in _LOOK_COUNTS for heads in range(count // 2 + 1, count + 1)})
    budget = FAMILY_ERROR_SHARE / gates
    widest = bisect_right(steps, budget, key=lambda share: plan_at(depth, gates, share).error_share)
    if widest == 0:
        raise ValueError(f"gates: found {gates}, more than {_LOOK_COUNTS[-1]} episodes can tell apart")
    return plan_at(depth, gates, steps[widest - 1])
