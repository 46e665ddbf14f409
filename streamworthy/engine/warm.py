"""Warm episodes, from one process: weights in memory, or read at a steady rate when they exceed it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streamworthy.bench.evict import WARM_SHARE, warm
from streamworthy.bench.residency import residency
from streamworthy.engine.interventions import Interventions
from streamworthy.engine.session import Session, StateError, make_phase, prompt_phases, stays_on_disk
from streamworthy.facts.episode import Episode
from streamworthy.units import format_bytes, format_share

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamworthy.engine.runner import Engine
    from streamworthy.engine.task import EngineTask
    from streamworthy.facts.episode import Disturbers, Residency
    from streamworthy.facts.intervention import Intervention

_STEADY_WINDOWS = 3
_STEADY_RATIO = 1.3  # of the largest to the smallest window: what random routing alone does to 16 tokens
_MOST_WINDOWS = 12
_NO_ANSWER: dict[str, Any] = {"ids": (), "text": ""}


class WarmSource:
    """Warm episodes from one process: all weights resident, or reading at a steady rate when they exceed memory."""

    def __init__(self, task: EngineTask, start: Callable[[], Engine], progress: Callable[[str], None]) -> None:
        """Load; the state is decided by whether the shards become and stay resident."""
        self._task = task
        self._progress = progress
        self.session = Session(task, start)
        self._answer = _NO_ANSWER
        self._settled: set[str] = set()
        try:
            self.resident = self._becomes_resident()
        except BaseException:
            self.session.close()
            raise
        self.state = "warm, resident" if self.resident else "warm, steady"

    def _becomes_resident(self) -> bool:
        task = self._task
        if task.file_bytes >= task.available_bytes:
            return False
        return not stays_on_disk(task) or warm(task.paths, task.file_bytes).share >= WARM_SHARE

    def run(self, kind: str, number: int, others: Disturbers | None) -> Episode:
        """Run one episode: ``kind`` is "prompt" or "decode". Raises EngineError, StateError when it is not warm."""
        task = self._task
        seen = self._verify()
        answer = _NO_ANSWER
        if kind == "prompt":
            phases = prompt_phases(self.session.prompt(number, task.plan.prompt_tokens), "", before=seen, after=None)
        else:
            self.session.prompt(number + 3, self.session.prefix_tokens)
            phases = [make_phase("decode", self.session.decode(task.plan.decode_tokens), before=seen, after=None)]
            answer, self._answer = self.session.answer() if self.resident else self._answer, _NO_ANSWER
        return Episode(
            state=self.state,
            number=number,
            start_seconds=0.0,
            first_token_seconds=0.0,
            first_token_counters=None,
            phases=tuple(phases),
            answer=tuple(answer["ids"]),
            answer_text=answer["text"],
            engine=self.session.state(),
            build=self.session.build,
            disturbers=others.names if others else (),
            hidden=others.hidden if others else "",
        )

    def intervene(self, start: Callable[[], Engine]) -> tuple[Intervention, ...]:
        """Change one thing at a time while the engine decodes. Raises EngineError."""
        return Interventions(self.session, start, progress=self._progress).run()

    def _verify(self) -> Residency | None:
        if not stays_on_disk(self._task):
            return None
        seen = residency(self._task.paths)
        if self.resident and seen.share < WARM_SHARE:  # DAMON pages idle weights out: top up
            seen = warm(self._task.paths, self._task.file_bytes)
        if self.resident and seen.share < WARM_SHARE:
            raise StateError(
                f"warm state: only {format_share(seen.share)} of the shards stay in memory, at least 99 % wanted",
                fix="close what uses the memory: ps aux --sort=-rss | head",
            )
        return seen

    def settle(self, kind: str) -> None:
        """Bring the engine into the state that episodes of a kind are taken in; StateError when it is not reached."""
        if kind in self._settled:
            return
        self._settled.add(kind)
        if kind == "prompt" or self.resident:  # a prompt touches nearly every expert: one brings the state of the next
            self.session.prompt(9, self._task.plan.prompt_tokens if kind == "prompt" else self.session.prefix_tokens)
            return
        windows: list[float] = []
        while not is_steady(windows, self._task.bytes_per_token):
            if len(windows) == _MOST_WINDOWS:
                said = ", ".join(map(format_bytes, windows[-4:]))
                raise StateError(
                    f"warm state: bytes read per token still change after {_MOST_WINDOWS} windows of text: ... {said}",
                    fix="close what uses the memory, or use a longer depth",
                )
            self.session.prompt(len(windows), self.session.prefix_tokens)
            found = self.session.decode(self._task.plan.decode_tokens)
            windows.append(found["device_bytes"] / found["tokens"])
            self._progress(f"warming up, window {len(windows)}: {format_bytes(windows[-1])} read per token")
        self._answer = self.session.answer()  # once, and not in an episode: its time would be taken for that of each


def is_steady(windows: list[float], bytes_per_token: int) -> bool:
    """Tell whether the last three windows of different text read about as many device bytes per token."""
    last = windows[-_STEADY_WINDOWS:]
    return len(last) == _STEADY_WINDOWS and max(last) <= _STEADY_RATIO * min(last) + bytes_per_token / 100
