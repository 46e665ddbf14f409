"""Timed runs of the engine, each with the state it ran in, and what the performance gates judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamworthy.facts.cause import Cause
    from streamworthy.facts.counters import Counters
    from streamworthy.facts.intervention import Intervention
    from streamworthy.facts.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Residency:
    """How much of the shards the page cache holds, and by which interface that was learned."""

    resident_bytes: int
    total_bytes: int
    method: str  # "cachestat", "mincore", "nowait sample", joined by "+" where shards differ

    @property
    def share(self) -> float:
        """Resident share of one."""
        return self.resident_bytes / self.total_bytes if self.total_bytes else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Eviction:
    """What became of an attempt to get the shards out of the page cache."""

    after: Residency
    seconds: float
    passes_count: int
    kept: str  # why pages stayed: who maps them, or that the file system holds them; "" when verified cold


@dataclass(frozen=True, slots=True, kw_only=True)
class Disturbers:
    """Who else uses the shards or their device right now."""

    mapping: tuple[str, ...]  # "name (pid N)" of each process that maps a shard
    reading: tuple[str, ...]  # "name (pid N), 120.0 MB/s", or the device when nobody can be named
    hidden: str  # which processes could not be looked into; "" when all could

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, without repeating one that both maps and reads."""
        return tuple(dict.fromkeys(self.mapping + self.reading))


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineBuild:
    """Which engine ran: numbers of different builds are not compared."""

    name: str  # "llama-cpp-python"
    version: str  # "0.3.36"
    commit: str  # of llama.cpp, "" when the build does not tell
    flags: str  # "native", "portable" or "unknown"
    cmake_args: str  # as the engine was configured, "" when the build does not tell
    compiler: str  # "" when the build does not tell
    features: str  # what llama_print_system_info says


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineState:
    """What the engine really did with its wishes, read from the child's maps, status and log after its first prompt."""

    mapped_bytes: int  # size (not Rss) of the VMAs over the shards
    random_bytes: int | None  # of these, marked as read at random (VmFlags rr); None: a kernel without smaps
    rss_anon_bytes: int
    rss_file_bytes: int
    locked_bytes: int  # VmLck
    base_bytes: int  # RssAnon of the child before loading, the vocabulary's tables and the compute graphs
    kv_bytes: int | None  # from the engine's log; None when it did not say
    compute_bytes: int | None  # likewise
    repack_bytes: int  # CPU_REPACK buffers in the log; 0 when there is none
    context_tokens: int  # what the engine says it has
    threads: int
    load_mode: str  # from the log: "mmap", "none", "mmap+mlock", ...; "" when it did not say
    flash_attention: str  # "enabled", "disabled", or "" when the log did not say
    hint_refused: str  # the log's line about read-ahead that could not be asked for; "" when there is none
    unmapped: str  # the log's line that says why nothing is mapped; "" when there is none


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One timed part of an episode: a load, a prompt or a run of decoded tokens.

    ``token_seconds`` holds the arrival of each decoded token since the phase began, ``token_device_bytes`` what the
    engine had read from the device by then; both are empty for a load and for a prompt.
    """

    name: str  # "load", "prompt", "prompt_evicted", "decode"
    seconds: float
    tokens: int
    token_seconds: tuple[float, ...]
    token_device_bytes: tuple[int, ...]
    device_bytes: int
    major_faults: int
    counters: Counters  # from the command that it was timed in to the answer: some milliseconds more than ``seconds``
    before: Residency | None  # None: not looked at, because the phase follows the one before it directly
    after: Residency | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One fresh state of the engine and what was timed in it.

    ``start_seconds``: spawn of the child to its answer to the load, imports included; 0 when the process served an
    episode before. ``first_token_seconds``: the same moment to the first non-empty token, with the counters of that
    stretch; ``disturbers`` were seen before the episode, and let through by --disturb.
    """

    state: str  # "cold", "warm, resident" or "warm, steady"
    number: int  # from 0
    start_seconds: float
    first_token_seconds: float
    first_token_counters: Counters | None  # None when the process served an episode before
    phases: tuple[Phase, ...]
    answer: tuple[int, ...]  # greedy token ids to the fixed prompt; empty when it was not asked
    answer_text: str
    engine: EngineState
    build: EngineBuild
    disturbers: tuple[str, ...]
    hidden: str  # which processes could not be looked into; "" when all could

    def phase(self, name: str) -> Phase | None:
        """Give a phase by name; None when this episode had none."""
        return next((phase for phase in self.phases if phase.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One episode's number for one gate: ``tokens`` in ``seconds``, with the state it was taken in."""

    seconds: float
    tokens: int  # 0 for a load
    device_bytes: int
    major_faults: int
    resident_share: float | None  # before; None: not looked at
    gap_seconds: tuple[float, ...]  # from one decoded token to the next, in order; empty for loads and prompts
    note: str  # a second number of the same episode, for the evidence; "" when there is none
    counters: Counters
    disturbers: tuple[str, ...]
    hidden: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFailure:
    """Why the engine gave no number: one line, what to do, and the end of its log."""

    message: str
    fix: tuple[str, ...]
    log: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """The greedy answers of all episodes so far, and the stored reference of the sample model."""

    tokens: tuple[tuple[int, ...], ...]
    texts: tuple[str, ...]
    reference: tuple[int, ...] | None  # None for every model but the sample
    refused: str  # why no episode was run; "" when that is not so
    failure: EngineFailure | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Everything that one performance gate judges.

    ``excluded`` says why the gate does not apply, ``refused`` why no more samples could be taken (a named disturber,
    the budget, a state that could not be verified); both are empty otherwise. ``wanted_count`` is the fewest samples
    that are judged: those of the first look of the rule for this ``depth`` and ``gates_count``.
    """

    metric: str
    state: str
    samples: tuple[Sample, ...]
    wanted_count: int
    depth: str
    gates_count: int  # that share the chance of a false word
    workload: Workload
    excluded: str
    refused: str
    stopped_by: Cause | None  # what stood in the way of samples; None: nothing did, or the budget
    interventions: tuple[Intervention, ...]  # made at depth full; else empty
    refused_fix: tuple[str, ...]
    failure: EngineFailure | None
    answers: Answers


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapping:
    """How the engine holds the weights: what load.mapped_share judges."""

    engine: EngineState | None  # None when the engine gave no state: ``failure`` or ``refused`` says why
    tensor_bytes: int
    available_bytes: int  # of memory: larger weights are streamed
    repack_asked: bool
    mmap_asked: bool
    numa_asked: str  # EnginePlan.numa
    refused: str
    failure: EngineFailure | None
