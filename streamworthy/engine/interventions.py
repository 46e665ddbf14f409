"""Changing one thing at a time while a warm engine decodes: counters only suspect a cause, a change shows it.

Each change is timed against a window of fresh text directly before it, in rounds, so that a drifting machine does not
pass for an effect. All is undone before the next window.
"""

from __future__ import annotations

import subprocess
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamworthy.bench.hold import hold
from streamworthy.bench.residency import residency
from streamworthy.children import child_environment, module_command
from streamworthy.errors import ProbeError, StreamworthyError
from streamworthy.facts.intervention import Change, Intervention
from streamworthy.probes.machine import Machine
from streamworthy.probes.sysroot import Sysroot
from streamworthy.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from streamworthy.engine.runner import Engine
    from streamworthy.engine.session import Session

ROUNDS = 3
WINDOWS = ROUNDS * 2 * len(Change)
_CACHE_SHARE = 0.25
_HELD_SHARE = 0.75  # at most, of what is available: locked pages are never given back
_SHORT_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Window:
    tokens_per_second: float
    read_per_token_bytes: float


class Interventions:
    """The changes that can be made around one loaded engine. ``start`` makes another engine process."""

    def __init__(self, session: Session, start: Callable[[], Engine], *, progress: Callable[[str], None]) -> None:
        """Take the engine; nothing is changed yet."""
        self._session = session
        self._start = start
        self._progress = progress
        self._rotation = 0

    def run(self, rounds: int = ROUNDS) -> tuple[Intervention, ...]:
        """Make each change in each round. Raises EngineError when the engine dies."""
        rates: dict[Change, list[float]] = {change: [] for change in Change}
        reads: dict[Change, list[float]] = {change: [] for change in Change}
        refused: dict[Change, str] = {}
        for number in range(rounds):
            for change in (each for each in Change if each not in refused):
                before = self._window()
                try:
                    with self._making(change):
                        after = self._window(again=change is Change.SAME_TEXT)
                except _RefusedError as error:
                    refused[change] = str(error)
                    continue
                rates[change].append(after.tokens_per_second / before.tokens_per_second)
                if before.read_per_token_bytes:
                    reads[change].append(after.read_per_token_bytes / before.read_per_token_bytes)
                self._progress(f"round {number + 1} of {rounds}, {change}: {rates[change][-1]:.2f} of the speed")
        return tuple(
            Intervention(
                change=change,
                rate_ratios=tuple(rates[change]),
                read_ratios=tuple(reads[change]),
                refused=refused.get(change, ""),
            )
            for change in Change
        )

    def _window(self, *, again: bool = False) -> _Window:
        self._rotation += not again
        self._session.prompt(self._rotation, self._session.prefix_tokens)
        found = self._session.decode(self._session.task.plan.decode_tokens)
        return _Window(
            tokens_per_second=found["tokens"] / found["seconds"],
            read_per_token_bytes=found["device_bytes"] / found["tokens"],
        )

    def _making(self, change: Change) -> AbstractContextManager[None]:
        return {
            Change.SAME_TEXT: _nothing,
            Change.HALF_THREADS: self._half_threads,
            Change.NO_READ_AHEAD: self._no_read_ahead,
            Change.LESS_MEMORY: self._less_memory,
            Change.HELD: self._held,
            Change.READER: self._reader,
        }[change]()

    @contextmanager
    def _half_threads(self) -> Iterator[None]:
        threads = self._session.task.threads
        if threads < 2:  # noqa: PLR2004
            raise _RefusedError("the engine has one thread")
        self._ask("set_threads", count=threads // 2)
        try:
            yield
        finally:
            self._ask("set_threads", count=threads)

    @contextmanager
    def _no_read_ahead(self) -> Iterator[None]:
        self._ask("advise", random=True)
        try:
            yield
        finally:
            self._ask("advise", random=False)

    @contextmanager
    def _less_memory(self) -> Iterator[None]:
        size = int(residency(self._session.task.paths).resident_bytes * _CACHE_SHARE)
        with self._start() as ballast:
            try:
                ballast.ask("lock", limit_seconds=_SHORT_SECONDS, size=max(1, size))
            except ProbeError as error:
                raise _RefusedError(error.message) from error
            yield

    @contextmanager
    def _held(self) -> Iterator[None]:
        task = self._session.task
        available = Machine(Sysroot()).memory.working_available_bytes
        if not task.dense or available is None:
            raise _RefusedError("this model has no dense tensors, or this kernel tells no available memory")
        with ExitStack() as stack:
            try:
                held = stack.enter_context(hold(Sysroot(), task.dense, available_bytes=int(_HELD_SHARE * available)))
            except StreamworthyError as error:
                raise _RefusedError(error.message) from error
            if held.held_bytes < held.wanted_bytes:
                part = f"{format_bytes(held.held_bytes)} of {format_bytes(held.wanted_bytes)}"
                raise _RefusedError(f"{part} may be locked (RLIMIT_MEMLOCK)")
            yield

    @contextmanager
    def _reader(self) -> Iterator[None]:
        with subprocess.Popen(
            module_command("streamworthy.bench.reader_child", *self._session.task.paths),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=child_environment(),
            start_new_session=True,  # Ctrl-C is for the parent, which then ends the child
        ) as child:
            try:
                assert child.stdout is not None  # noqa: S101 - for the type checker: a pipe was asked for
                if not child.stdout.readline():
                    raise _RefusedError("the shards cannot be read past the page cache")
                yield
            finally:
                child.kill()

    def _ask(self, command: str, **arguments: int) -> None:
        self._session.engine.ask(command, limit_seconds=_SHORT_SECONDS, **arguments)


class _RefusedError(Exception):
    """A change cannot be made here; the text says why."""


@contextmanager
def _nothing() -> Iterator[None]:
    yield
