"""The episodes of one qualification: run when a gate first asks, kept for every gate that draws on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.closing import Closing
from streamworthy.engine import metrics
from streamworthy.engine.build import probe_build
from streamworthy.engine.collector import BUDGET_SHARES, Allowance, Collected, Collector
from streamworthy.engine.runner import Engine
from streamworthy.engine.session import stays_on_disk
from streamworthy.facts.episode import Answers, EngineFailure, Mapping, Series
from streamworthy.facts.workload import NOTHING_MEASURED
from streamworthy.stats_plan import plan_for

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from streamworthy.engine.metrics import Metric
    from streamworthy.engine.task import EngineTask
    from streamworthy.facts.episode import EngineBuild, Episode
    from streamworthy.facts.workload import MeasuredRoofs

_LOCKED = "the engine keeps the weights in its own memory (repack, mlock or mmap off): decode has no cold state"
_UNSEEN = "evicted weights came back without device reads: this file system's reads are not accounted"


class Pool(Closing):
    """Runs and keeps episodes. Use as a context manager, or call close: the engine is gone afterwards.

    ``budget_seconds`` is the depth's time for all episodes; ``depth`` its name, for messages. Without ``disturb``
    nothing is evicted or loaded while another process maps the shards or reads their device. ``progress`` gets one
    plain line an episode. ``gates_count`` gates share the chance of a false word; ``wanted`` gives how many more
    samples a gate needs after those of its series, None stands for those of the first look. ``measured`` gives
    the roofs that were measured by then. ``start`` makes an engine process and exists for tests.
    """

    def __init__(  # noqa: PLR0913 - what a run of episodes is bounded by
        self,
        task: EngineTask,
        *,
        scratch: Path,
        budget_seconds: float,
        depth: str,
        disturb: bool,
        progress: Callable[[str], None],
        gates_count: int = 1,
        wanted: Callable[[Series], int] | None = None,
        measured: Callable[[], MeasuredRoofs] = lambda: NOTHING_MEASURED,
        start: Callable[[Path], Engine] = Engine,
    ) -> None:
        """Take what is to be run; nothing starts before a gate asks."""
        self._plan = plan_for(depth, gates_count)
        allowance = Allowance(
            depth=depth,
            first_count=self._plan.looks[0].count,
            most_count=self._plan.looks[-1].count,
            budget_seconds=budget_seconds,
            disturb=disturb,
        )
        self._wanted = wanted or (lambda series: max(0, series.wanted_count - len(series.samples)))
        self._task = task
        self._measured = measured
        self._collector = Collector(
            task, allowance, start=lambda: start(scratch), progress=progress, wanted=self._more_of
        )
        self._collected = {kind: Collected() for kind in BUDGET_SHARES}

    def close(self) -> None:
        """End the warm engine, if there is one."""
        self._collector.close()

    def series(self, metric: Metric) -> Series:
        """Give everything that a gate judges; runs the episodes of its kind when nobody has before.

        Never raises for what the engine does: a crash, a hang or a refusal is part of the series.
        """
        locked = metric is metrics.DECODE_COLD and not stays_on_disk(self._task)
        found = Collected() if locked else self._collect(metric.kind)
        if metric is metrics.DECODE_WARM and self._plan.depth == "full":
            self._collector.intervene(found)
        return self._series_of(metric, found)

    def _series_of(self, metric: Metric, found: Collected) -> Series:
        excluded = _LOCKED if metric is metrics.DECODE_COLD and not stays_on_disk(self._task) else ""
        samples = tuple(sample for sample in map(metric.sample, found.episodes) if sample)
        if metric is metrics.DECODE_COLD and metrics.reads_nothing(samples, self._task.bytes_per_token):
            excluded = _UNSEEN
        return Series(
            metric=metric.gate,
            state=found.episodes[0].state if found.episodes else metric.kind,
            samples=samples,
            wanted_count=self._plan.looks[0].count,
            depth=self._plan.depth,
            gates_count=self._plan.gates_count,
            workload=self._task.workload(self._measured()),
            excluded=excluded,
            refused=found.refused,
            refused_fix=found.refused_fix,
            stopped_by=found.stopped_by,
            interventions=found.interventions if metric.gate.startswith("decode.") else (),
            failure=found.failure,
            answers=self._answers(),
        )

    @property
    def load(self) -> Series:
        """Cold files to a usable context."""
        return self.series(metrics.LOAD)

    @property
    def first_token_cold(self) -> Series:
        """Engine start to the first token, load included."""
        return self.series(metrics.FIRST_TOKEN_COLD)

    @property
    def first_token_warm(self) -> Series:
        """Prompt sent to the first token, weights warm."""
        return self.series(metrics.FIRST_TOKEN_WARM)

    @property
    def prefill(self) -> Series:
        """Prompt tokens a second, weights warm."""
        return self.series(metrics.PREFILL)

    @property
    def decode_cold(self) -> Series:
        """The first tokens after eviction."""
        return self.series(metrics.DECODE_COLD)

    @property
    def decode_warm(self) -> Series:
        """Tokens in the steady state."""
        return self.series(metrics.DECODE_WARM)

    @property
    def answers(self) -> Answers:
        """The greedy answers of all episodes; runs warm ones when none has run."""
        if not self._episodes():
            self._collect("decode")
        return self._answers()

    @property
    def mapping(self) -> Mapping:
        """How the engine holds the weights; of all episodes the one with most anonymous memory."""
        if not self._episodes():
            self._collect("decode")
        states = [episode.engine for episode in self._episodes()]
        return Mapping(
            engine=max(states, key=lambda state: state.rss_anon_bytes, default=None),
            tensor_bytes=self._task.tensor_bytes,
            available_bytes=self._task.available_bytes,
            repack_asked=self._task.plan.repack,
            mmap_asked=self._task.plan.mmap,
            numa_asked=self._task.plan.numa,
            refused=self._refused,
            failure=self.failure,
        )

    @property
    def failure(self) -> EngineFailure | None:
        """Why the engine gave no number, where it did not."""
        return next((found.failure for found in self._collected.values() if found.failure), None)

    @property
    def build(self) -> EngineBuild | None:
        """Which engine ran, or is installed where it failed before its first word; None before it was asked."""
        return next((episode.build for episode in self._episodes()), probe_build() if self.failure else None)

    @property
    def episodes(self) -> tuple[Episode, ...]:
        """All episodes so far, for the facts that are kept with the report."""
        return tuple(self._episodes())

    def _episodes(self) -> list[Episode]:
        return [episode for found in self._collected.values() for episode in found.episodes]

    @property
    def _refused(self) -> str:
        return next((found.refused for found in self._collected.values() if found.refused), "")

    def _answers(self) -> Answers:
        answered = [episode for episode in self._episodes() if episode.answer]
        return Answers(
            tokens=tuple(episode.answer for episode in answered),
            texts=tuple(episode.answer_text for episode in answered),
            reference=self._task.answer_reference,
            refused=self._refused,
            failure=self.failure,
        )

    def _more_of(self, kind: str) -> int:
        """Give how many more episodes of a kind the gates that draw on it need; an excluded gate needs none."""
        drawing = [metric for metric in metrics.METRICS if metric.kind == kind]
        series = [self._series_of(metric, self._collected[kind]) for metric in drawing]
        return max(self._wanted(each) for each in series if not each.excluded)

    def _collect(self, kind: str) -> Collected:
        found = self._collected[kind]
        if not found.asked:
            found.asked = True
            found.failure = self.failure  # an engine that failed once is not asked again
            if not found.failure:
                self._collector.collect(kind, found)
        return found
