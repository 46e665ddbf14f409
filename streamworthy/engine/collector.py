"""Collecting the episodes of one kind: within the budget, beside nobody, and no further after a failure."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

from streamworthy.bench.disturbers import find_disturbers
from streamworthy.engine.cold import run_cold
from streamworthy.engine.death import LESS_MEMORY, EngineDiedError
from streamworthy.engine.interventions import WINDOWS
from streamworthy.engine.session import StateError, UnfulfilledError, stays_on_disk
from streamworthy.engine.warm import WarmSource
from streamworthy.engine.wishes import LOCK_ALL
from streamworthy.errors import ProbeError
from streamworthy.facts.cause import Cause
from streamworthy.facts.episode import EngineFailure
from streamworthy.probes.sysroot import Sysroot
from streamworthy.units import format_bytes, format_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamworthy.engine.runner import Engine
    from streamworthy.engine.task import EngineTask
    from streamworthy.facts.episode import Disturbers, Episode
    from streamworthy.facts.intervention import Intervention

BUDGET_SHARES = {"cold": 0.5, "prompt": 0.2, "decode": 0.3}
_QUIET_SECONDS = 5.0  # a short reader is waited for
_MOST_SPOILED = 2
_WITH_PROMPT = 1.5  # of a decoded window's time: the prompt before it


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """What the episodes may take: the depth's name and seconds, and whether others may be disturbed.

    ``first_count`` episodes are the fewest that decide anything, ``most_count`` the most of a kind that are run.
    """

    depth: str
    first_count: int
    most_count: int
    budget_seconds: float
    disturb: bool


@dataclass(slots=True)
class Collected:
    """What came of one kind of episodes; unlike facts it grows."""

    episodes: list[Episode] = field(default_factory=list)
    refused: str = ""
    refused_fix: tuple[str, ...] = ()
    stopped_by: Cause | None = None
    failure: EngineFailure | None = None
    interventions: tuple[Intervention, ...] = ()
    intervened: bool = False
    asked: bool = False


class Collector:
    """Runs episodes; keeps the warm engine between them."""

    def __init__(
        self,
        task: EngineTask,
        allowance: Allowance,
        *,
        start: Callable[[], Engine],
        progress: Callable[[str], None],
        wanted: Callable[[str], int],
    ) -> None:
        """Take what is to be run; nothing starts yet. ``wanted`` gives how many more episodes of a kind are needed."""
        self._task = task
        self._allowance = allowance
        self._start = start
        self._progress = progress
        self._wanted = wanted
        self._root = Sysroot()
        self._warm: WarmSource | None = None

    def close(self) -> None:
        """End the warm engine, if there is one."""
        if self._warm:
            self._warm.session.close()
            self._warm = None

    def collect(self, kind: str, found: Collected) -> None:
        """Run the episodes of a kind into ``found``, or say there why they could not be run."""
        try:
            self._run(kind, found)
        except StateError as error:
            found.refused, found.refused_fix = error.message, tuple(error.fix.splitlines())
            found.stopped_by = Cause.CACHE_DISTURBED
        except ProbeError as error:
            log = error.log if isinstance(error, EngineDiedError) else ()
            found.failure = EngineFailure(message=error.message, fix=tuple(self._fix_of(error).splitlines()), log=log)
            found.stopped_by = self._cause_of(error)
            self.close()

    def _cause_of(self, error: ProbeError) -> Cause | None:
        """Tell what is behind an engine that ended: weights that it had to copy did not fit, or nothing did."""
        if isinstance(error, UnfulfilledError):
            return Cause.ENGINE_CONFIGURATION
        if not isinstance(error, EngineDiedError) or not error.out_of_memory:
            return None
        copies = not stays_on_disk(self._task)
        return Cause.ENGINE_CONFIGURATION if copies else Cause.MEMORY_CAPACITY

    def _fix_of(self, error: ProbeError) -> str:
        """Give the error's remedy; where memory was short, that of what the tier asks to be held in it."""
        if error.fix != LESS_MEMORY:
            return error.fix
        plan = self._task.plan
        if plan.repack:
            return "in [engine]: repack = false    # the copy of the weights did not fit beside what else is needed"
        if not plan.mmap:
            return "in [engine]: mmap = true    # all weights were read into memory"
        lock = ', or lock = "nothing"' if plan.lock_bytes == LOCK_ALL else ""
        return f"in [engine]: less context_tokens{lock}; or give the engine more memory"

    def intervene(self, found: Collected) -> None:
        """Change one thing at a time beside the warm engine, once, where the budget of its kind allows it."""
        if found.intervened or not found.episodes or found.refused or found.failure or self._warm is None:
            return
        found.intervened = True
        each = median(phase.seconds for episode in found.episodes for phase in episode.phases)
        need = WINDOWS * each * _WITH_PROMPT
        if need > self._allowance.budget_seconds * BUDGET_SHARES["decode"]:
            return
        self._progress(f"one thing changed at a time, about {format_seconds(need)}")
        try:
            found.interventions = self._warm.intervene(self._start)
        except ProbeError as error:  # the samples stand; only their cause stays suspected
            self._progress(f"given up: {error.message}")
            self.close()

    def _run(self, kind: str, found: Collected) -> None:
        spent, prepared, spoiled = 0.0, 0.0, 0
        while (left := self._left(kind, found)) and not found.refused:
            runs = len(found.episodes) + spoiled
            each = spent / runs if spent else self._task.expected_seconds(kind)
            fitting = left if spent else 1  # the first runs if it fits: an estimate may be wrong
            if each * fitting > self._allowance.budget_seconds * BUDGET_SHARES[kind] - spent - prepared:
                self._end_early(kind, found, left, each, prepared)
                return
            others = self._look(kind)
            if others and others.names and not self._allowance.disturb:
                _refuse(
                    found, f"{', '.join(others.names)} uses the shards or their device: nothing was evicted or loaded"
                )
            if found.refused:
                return
            began = time.monotonic()
            self._prepare(kind)
            ready = time.monotonic()
            episode = self._episode(kind, len(found.episodes), others)
            prepared += ready - began
            spent += time.monotonic() - ready
            foreign = "" if self._allowance.disturb else foreign_read(episode)
            if foreign:
                spoiled += 1
                if spoiled > _MOST_SPOILED:
                    _refuse(found, foreign)
                continue
            found.episodes.append(episode)
            self._progress(describe(kind, episode, self._allowance.most_count))

    def _left(self, kind: str, found: Collected) -> int:
        return min(self._wanted(kind), self._allowance.most_count - len(found.episodes))

    def _prepare(self, kind: str) -> None:
        if kind == "cold":
            self.close()  # its maps would keep the shards in memory
            return
        if self._warm is None:
            self._progress(f"loading {format_bytes(self._task.file_bytes)} for the warm episodes")
            self._warm = WarmSource(self._task, self._start, self._progress)
        self._warm.settle(kind)

    def _episode(self, kind: str, number: int, others: Disturbers | None) -> Episode:
        if self._warm is None:
            return run_cold(self._task, number, self._start, others)
        return self._warm.run(kind, number, others)

    def _look(self, kind: str) -> Disturbers | None:
        if kind != "cold" and self._warm and self._warm.resident:
            return None  # nothing is evicted, loaded or read
        own = [self._warm.session.engine.pid] if self._warm else []
        deadline = time.monotonic() + _QUIET_SECONDS
        while True:
            found = find_disturbers(self._root, self._task.paths, devices=self._task.devices, own=own)
            if not found.names or self._allowance.disturb or found.mapping or time.monotonic() > deadline:
                return found

    def _end_early(self, kind: str, found: Collected, left: int, each: float, prepared: float) -> None:
        """Say what the next look would take; before the first look, what the whole depth would have to give."""
        depth, budget, done = self._allowance.depth, self._allowance.budget_seconds, len(found.episodes)
        if done >= self._allowance.first_count:
            found.refused = (
                f"{left} more {kind} episodes need about {format_seconds(each * left)}, "
                f"more than the depth {depth} has left"
            )
        else:
            need = each * (done + left) + prepared
            found.refused = (
                f"the depth {depth} gives {format_seconds(budget)} for all episodes; "
                f"{done + left} {kind} episodes need about {format_seconds(need)}, "
                f"so all of them about {format_seconds(need / BUDGET_SHARES[kind])}"
            )
        found.refused_fix = ("pytest -m qualify --depth full",)


def _refuse(found: Collected, reason: str) -> None:
    found.refused, found.stopped_by = reason, Cause.OTHER_LOAD
    found.refused_fix = ("end that process and run again", "or add --disturb, to measure beside it")


def foreign_read(episode: Episode) -> str:
    """Say by how much others read the model's devices in a timed phase; "" when they did not, or it did not matter."""
    if episode.state == "warm, resident":
        return ""
    for phase in episode.phases:
        if phase.counters.others_read:
            seen, own = phase.counters.device_bytes or 0, phase.counters.engine_bytes or 0
            return (
                f"another reader came in during the episodes: the device read {format_bytes(seen)}, "
                f"the engine {format_bytes(own)} of it"
            )
    return ""


def describe(kind: str, episode: Episode, most_count: int) -> str:
    """Write one line of progress."""
    parts = [f"{phase.name.replace('_', ' ')} {format_seconds(phase.seconds)}" for phase in episode.phases]
    number = f"{episode.number + 1} of at most {most_count}"
    return f"{kind} episode {number} ({episode.state}): {', '.join(parts)}"
