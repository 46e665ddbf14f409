"""What the pool of episodes is given: one model, one machine's bounds, one engine plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamworthy.facts.workload import Workload
from streamworthy.sample.text import passages

if TYPE_CHECKING:
    from pathlib import Path

    from streamworthy.facts.disk import ReadAheadFacts
    from streamworthy.facts.plan import EnginePlan
    from streamworthy.facts.tensor_kinds import TensorPlace
    from streamworthy.facts.workload import MeasuredRoofs

ANSWER_PROMPT = "The capital of France is"
ANSWER_TOKENS = 16
_SLACK = 20  # times what the bytes need: a slow machine gets its number, only a stuck one is ended
_FLOOR_SECONDS = 300.0
_START_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineTask:
    """One model to be run.

    ``available_bytes``: memory that the engine and the page cache may take (MemoryFacts.working_available_bytes).
    ``disk_bytes_per_second`` is what the tier requires of the disk: time limits and estimates follow from it.
    ``fault_bytes_per_second``: what page faults on slabs get of it; ``memory_bytes_per_second``: likewise the memory.
    ``answer_reference``: the stored greedy answer of the sample model; None for every other model.
    """

    paths: tuple[Path, ...]  # shards in order, the first is given to the engine
    dense: tuple[TensorPlace, ...]  # what every token reads
    file_bytes: int
    tensor_bytes: int
    bytes_per_token: int  # cold
    plan: EnginePlan
    threads: int
    performance_cores_count: int | None  # as CpuFacts has it
    available_bytes: int
    devices: tuple[str, ...]  # leaf block devices as in diskstats; empty: not known
    disk_bytes_per_second: float
    fault_bytes_per_second: float
    memory_bytes_per_second: float
    slab_bytes: int | None  # the largest; None: a dense model
    read_ahead: ReadAheadFacts | None  # None: not known
    answer_prompt: str
    answer_tokens: int
    answer_reference: tuple[int, ...] | None

    def workload(self, measured: MeasuredRoofs) -> Workload:
        """Give what a token takes and what the tier's machine gives it."""
        return Workload(
            file_bytes=self.file_bytes,
            available_bytes=self.available_bytes,
            bytes_per_token=self.bytes_per_token,
            slab_bytes=self.slab_bytes,
            threads_count=self.threads,
            performance_cores_count=self.performance_cores_count,
            read_ahead=self.read_ahead,
            fault_bytes_per_second=self.fault_bytes_per_second,
            memory_bytes_per_second=self.memory_bytes_per_second,
            measured=measured,
        )

    @property
    def prompt_bytes(self) -> int:
        """At most so many bytes are read by a cold prompt: the whole model for each ubatch."""
        return self.file_bytes * -(-self.plan.prompt_tokens // self.plan.ubatch_tokens)

    @property
    def decode_bytes(self) -> int:
        """Bytes of a timed run of decoded tokens, all of them cold."""
        return self.bytes_per_token * self.plan.decode_tokens

    def limit_seconds(self, size: int) -> float:
        """Give the time after which a command that reads so many bytes is given up."""
        return max(_FLOOR_SECONDS, _SLACK * size / self.disk_bytes_per_second)

    def expected_seconds(self, kind: str) -> float:
        """Estimate one episode's time on a machine that just meets the tier's disk limit."""
        fits = self.file_bytes < self.available_bytes
        cold = self.file_bytes + (1 if fits else 2) * min(self.prompt_bytes, self.file_bytes) + self.decode_bytes
        warm = {"prompt": self.file_bytes, "decode": self.decode_bytes}
        size = cold if kind == "cold" else 0 if fits else warm[kind]
        return _START_SECONDS + size / self.disk_bytes_per_second

    def texts(self, rotation: int) -> tuple[str, ...]:
        """Give all passages, beginning with another one each time."""
        all_texts = passages()
        start = rotation % len(all_texts)
        return all_texts[start:] + all_texts[:start]
