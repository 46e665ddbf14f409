"""Timed runs of the engine, each with the state it ran in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Residency:
    """How much of the shards the page cache holds, and by which interface that was learned."""

    resident_bytes: int
    total_bytes: int
    method: str  # "cachestat", "mincore", "nowait-sample"

    @property
    def share(self) -> float:
        """Resident share of one."""
        return self.resident_bytes / self.total_bytes if self.total_bytes else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineBuild:
    """Which engine ran: numbers of different builds are not compared."""

    name: str  # "llama-cpp-python"
    version: str  # "0.3.36"
    commit: str  # of llama.cpp, "" when the build does not tell
    flags: str  # "native" or "portable", with what llama_print_system_info says


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineState:
    """What the engine really did with its wishes, read from the child's maps, smaps, status and log after loading."""

    mapped_bytes: int  # size (not Rss) of the VMAs over the shards
    tensor_bytes: int  # what had to be mapped
    rss_anon_bytes: int
    rss_file_bytes: int
    locked_bytes: int  # VmLck
    kv_bytes: int | None  # from the engine's log; None when it did not say
    compute_bytes: int | None
    repack_bytes: int  # CPU_REPACK buffers in the log; 0 when there is none
    context_tokens: int  # what the engine says it has
    threads: int
    refused: tuple[str, ...]  # wishes that did not take effect, one clear line each


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One timed part of an episode: a load, a prompt or a run of decoded tokens."""

    name: str  # "load", "first_token", "prefill", "decode"
    seconds: float
    tokens: int
    token_seconds: tuple[float, ...]  # arrival of each token since the phase began; empty for a load
    device_bytes: int  # read_bytes of the child's /proc/PID/io; None is impossible: the file is required
    major_faults: int
    before: Residency
    after: Residency


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One fresh state of the engine and what was timed in it.

    ``start_seconds``: spawn of the child to its first answer, imports included. ``answer``: greedy token ids to the
    fixed prompt. ``disturbers``: who else mapped the shards or read the device, ``name (pid N)``.
    """

    state: str  # "cold" or "warm"
    start_seconds: float
    phases: tuple[Phase, ...]
    answer: tuple[int, ...]
    engine: EngineState
    build: EngineBuild
    disturbers: tuple[str, ...]
    psi_io_full_share: float | None  # None: kernel without PSI
    psi_memory_full_share: float | None
    temperature_celsius: float | None  # of the model's device; None: not readable
