"""A loaded engine and the questions an episode asks of it."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from streamworthy.bench.residency import residency
from streamworthy.bench.sampler import Sampler
from streamworthy.closing import Closing
from streamworthy.engine.build import engine_build
from streamworthy.engine.effects import engine_state, unfulfilled, vain_fix
from streamworthy.engine.log import parse_log
from streamworthy.engine.wishes import LOCK_ALL
from streamworthy.errors import EngineError
from streamworthy.facts.episode import Phase, Residency
from streamworthy.probes.sysroot import Sysroot

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamworthy.bench.readings import Reading
    from streamworthy.engine.runner import Engine
    from streamworthy.engine.task import EngineTask
    from streamworthy.facts.counters import Counters
    from streamworthy.facts.episode import EngineBuild, EngineState

_PREFIX_TOKENS = 16
_SHORT_SECONDS = 120.0  # limit for commands that read nothing


class StateError(EngineError):
    """The page cache could not be brought into the state that a number is for."""


class UnfulfilledError(EngineError):
    """The engine runs, and not as it was asked to."""


class Session(Closing):
    """A loaded engine, what is known about it, and a sampler beside it. Use as a context manager, or call close."""

    def __init__(self, task: EngineTask, start: Callable[[], Engine]) -> None:
        """Start an engine and load the model; raises EngineError."""
        self.task = task
        self._counted_seconds = 0.0  # in which the engine waited for its next command, because of us
        self._sampler = Sampler(Sysroot(), task.devices, threads=task.threads)
        try:
            self._began = self._ended = self._sampler.mark()
            self.engine = start()
        except BaseException:
            self._sampler.close()
            raise
        try:
            self._sampler.watch(self.engine.pid)
            self.loaded = self._load()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the engine and the sampler."""
        try:
            self.engine.close()
        finally:
            self._sampler.close()

    def _load(self) -> dict[str, Any]:
        task = self.task
        if task.plan.lock_bytes > 0:
            with suppress(EngineError):  # no number depends on it: VmLck of the state tells, memory.memlock judges
                self.engine.ask("lock", limit_seconds=_SHORT_SECONDS, size=task.plan.lock_bytes)
        self.engine.ask("prepare", limit_seconds=task.limit_seconds(0))
        return self._ask(
            "load",
            limit_seconds=task.limit_seconds(task.file_bytes),
            shards=[str(path) for path in task.paths],
            plan=asdict(task.plan),
            threads=task.threads,
        )

    def _ask(self, command: str, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401 - as Engine.ask
        """Ask for something that is timed; ``counters`` of the answer tell what happened meanwhile.

        ``counted_seconds`` of the answer is how long the engine has waited since its start for such counting.
        """
        first = self._mark(last=False)
        found = self.engine.ask(command, **arguments) | {"counted_seconds": self._counted_seconds}
        self._ended = self._mark(last=True)
        return found | {"counters": self._sampler.between(first, self._ended)}

    def _mark(self, *, last: bool) -> Reading:
        began = time.monotonic()
        reading = self._sampler.mark(last=last)
        self._counted_seconds += time.monotonic() - began
        return reading

    def since_spawn(self) -> Counters:
        """Tell what happened from just before the engine's start to the end of what was timed last."""
        return self._sampler.between(self._began, self._ended)

    @property
    def build(self) -> EngineBuild:
        """Which engine this is."""
        return engine_build(**self.loaded["identity"])

    @property
    def prefix_tokens(self) -> int:
        """The short prompt before a warm timed decode."""
        return min(_PREFIX_TOKENS, self.task.plan.prompt_tokens)

    def load_phase(self, before: Residency | None) -> Phase:
        """Give the load as a phase."""
        return make_phase("load", self.loaded, before=before, after=residency(self.task.paths))

    def prompt(self, rotation: int, tokens: int) -> dict[str, Any]:
        """Feed a prompt; the text's next tokens are kept for decode."""
        return self._ask(
            "prompt",
            limit_seconds=self.task.limit_seconds(self.task.prompt_bytes),
            texts=self.task.texts(rotation),
            tokens=tokens,
            spare=self.task.plan.decode_tokens,
            batch=self.task.plan.batch_tokens,
        )

    def decode(self, tokens: int) -> dict[str, Any]:
        """Feed the text's next tokens one at a time."""
        return self._ask("decode", limit_seconds=self.task.limit_seconds(self.task.decode_bytes), tokens=tokens)

    def answer(self) -> dict[str, Any]:
        """Answer the fixed prompt greedily."""
        task = self.task
        size = task.bytes_per_token * 2 * task.answer_tokens
        return self.engine.ask(
            "answer",
            limit_seconds=task.limit_seconds(size),
            text=task.answer_prompt,
            tokens=task.answer_tokens,
            batch=task.plan.batch_tokens,
        )

    def drop(self) -> Residency:
        """Let the engine drop its own maps and the page cache behind them; StateError when it is not cold then."""
        found = self.engine.ask("drop", limit_seconds=_SHORT_SECONDS)
        if found["kept"]:
            raise StateError(f"cold state: {found['kept']}", fix="end that process, or move the shards to ext4 or xfs")
        return Residency(**found["after"])

    def state(self) -> EngineState:
        """Verify that every wish took effect; EngineError names those that did not."""
        task, log = self.task, parse_log(self.engine.log_text())
        state = engine_state(self.engine.ask("state", limit_seconds=_SHORT_SECONDS), log)
        missing = unfulfilled(task.plan, state, log, threads=task.threads, tensor_bytes=task.tensor_bytes)
        if missing:
            raise UnfulfilledError(
                f"engine: asked in vain: {'; '.join(missing)}",
                fix=vain_fix(log),
            )
        return state


def stays_on_disk(task: EngineTask) -> bool:
    """Tell whether the engine leaves the weights in the files, so that they can be evicted from under it."""
    return task.plan.mmap and not task.plan.repack and task.plan.lock_bytes != LOCK_ALL


def prompt_phases(
    found: dict[str, Any], suffix: str, *, before: Residency | None, after: Residency | None
) -> list[Phase]:
    """Make two phases of a prompt: until its last logits, and until the first token that has text."""
    prefill = found | {"seconds": found["prefill_seconds"]}
    first = found | {"seconds": found["first"] - found["sent"]}
    return [
        make_phase(f"prefill{suffix}", prefill, before=before, after=after),
        make_phase(f"first_token{suffix}", first, before=before, after=after),
    ]


def make_phase(name: str, found: dict[str, Any], *, before: Residency | None, after: Residency | None) -> Phase:
    """Make a phase of what the child measured."""
    return Phase(
        name=name,
        seconds=found["seconds"],
        tokens=found.get("tokens", 0),
        token_seconds=tuple(found.get("token_seconds", ())),
        token_device_bytes=tuple(found.get("token_device_bytes", ())),
        device_bytes=found["device_bytes"],
        major_faults=found["major_faults"],
        counters=found["counters"],
        before=before,
        after=after,
    )
