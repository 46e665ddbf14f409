"""What a qualification needs before its first gate: the model, the machine and the engine's pool."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from streamworthy.errors import ProbeError, UsageError
from streamworthy.facts.tier import ApplicabilityFacts
from streamworthy.gguf.subject import Subject
from streamworthy.probes.home import probe_cache_folder
from streamworthy.probes.machine import Machine
from streamworthy.probes.mountinfo import is_far
from streamworthy.units import BYTES, format_bytes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from streamworthy.bench.bench import Bench
    from streamworthy.engine.pool import Pool
    from streamworthy.engine.task import EngineTask
    from streamworthy.facts.disk import ReadAheadFacts
    from streamworthy.facts.memory import MemoryFacts
    from streamworthy.facts.request import Request
    from streamworthy.facts.workload import MeasuredRoofs
    from streamworthy.probes.sysroot import Sysroot
    from streamworthy.thresholds import Tier

# Time for all episodes. A 390 GB model at the laptop tiers' limits needs about an hour for five of each kind, the
# first look of quick, and twice that for the nine of the others.
BUDGET_SECONDS = {"quick": 15 * 60.0, "standard": 2 * 3600.0, "full": 8 * 3600.0}


def scratch_folder(scratch: Path | None) -> Path:
    """Give the one folder that is written to: the one asked for, else the user's cache. UsageError without a home."""
    if scratch is not None:
        return scratch
    cache = probe_cache_folder()
    if cache is None:
        raise UsageError(
            "scratch folder: found no home folder for it (HOME is unset, and passwd has no such user)",
            fix="--scratch FOLDER, one that you can write to",
        )
    return cache / "streamworthy"


def make_scratch(scratch: Path | None) -> Path:
    """Give the scratch folder, made if it is not there."""
    folder = scratch_folder(scratch)
    make_folder(folder, option="--scratch")
    return folder


def make_folder(folder: Path, *, option: str) -> None:
    """Make a folder that a report or the scratch files go to, and check that it can be written.

    ``option`` is what the user can name another folder with.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise UsageError(f"{folder}: found a file, expected a folder", fix=f"{option} FOLDER") from error
    except OSError as error:
        raise UsageError(
            f"{folder}: cannot be made: {error.strerror}", fix=f"{option} FOLDER, one that you can write to"
        ) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(
            f"{folder}: found no permission to write, expected it", fix=f"{option} FOLDER, one that you can write to"
        )


def find_subject(request: Request, *, live: bool, say: Callable[[str], None]) -> Subject | None:
    """Give the model that is judged; None for a captured machine without one. Makes the sample where none is named."""
    model = request.model
    if model is None:
        if not live:
            return None
        model = make_sample(request, say)
    subject = Subject(model, manifest=request.sha256, depth=request.depth, rehash=request.rehash, say=say)
    _ = subject.listing  # a path that is no model ends the run here; a broken model is for the gates to judge
    return subject


def make_sample(request: Request, say: Callable[[str], None]) -> Path:
    """Make the sample model, or find it in the scratch folder as it was made; returns its first shard."""
    from streamworthy.sample.make import ensure_sample
    from streamworthy.sample.spec import spec_for_size

    try:
        size_bytes = int(BYTES.parse(request.sample_size))  # type: ignore[call-overload]
    except ValueError as error:
        raise UsageError(
            f"--sample-size: found {request.sample_size!r}, expected a number with one of {error}",
            fix="--sample-size 1.4GB",
        ) from error
    folder = make_scratch(request.scratch) / "sample"
    make_folder(folder, option="--scratch")
    told: list[int] = []

    def progress(done: int, total: int) -> None:
        if not told or done >= told[-1] + total // 4:
            told.append(done)
            say(f"sample model: {format_bytes(done)} of {format_bytes(total)} written to {folder}")

    return ensure_sample(folder, spec_for_size(size_bytes), progress=progress)


def find_machine(root: Sysroot, subject: Subject | None) -> Machine:
    """Give the machine that is judged, with what it has to know of the model."""
    if subject is None:
        machine = Machine(root, lock_need_bytes=lambda: _known(machine.volumes.set_total_bytes))
        return machine
    machine = Machine(
        root,
        model_paths=subject.paths,
        lock_need_bytes=lambda: subject.sizes.total_bytes,
        set_total_bytes=lambda: subject.set_total_bytes,
        engine_need_bytes=lambda plan: sum(line.size_bytes for line in subject.ledger(plan, machine.memory).anonymous),
    )
    subject.far = lambda: _far(machine)
    return machine


def _far(machine: Machine) -> str:
    """Name the network or the relay that shards are read over; "" when all lie on this machine, or nobody can tell."""
    try:
        volumes = [volume for volume in machine.volumes.volumes if volume.shards]
    except ProbeError:
        return ""
    mounts = dict.fromkeys(mount for volume in volumes for mount in (volume.mount, *volume.beneath))
    return "; ".join(f"{mount.fstype} at {mount.mount_point}" for mount in mounts if is_far(mount))


def _known(size_bytes: int | None) -> int:
    if size_bytes is None:
        raise ProbeError("model: its size is not known", fix="give [model] total_bytes in machine.toml")
    return size_bytes


def applicability(machine: Machine, subject: Subject | None, *, sample: bool) -> ApplicabilityFacts:
    """Learn what decides which tier applies; a model whose headers cannot be read counts by its files."""
    memory = machine.memory
    return ApplicabilityFacts(
        memory_total_bytes=memory.total_bytes,
        memory_available_bytes=_available(memory),
        model="sample" if sample and machine.root.live else "given",
        weights_bytes=_weights(subject) if subject else machine.volumes.set_total_bytes,
        architecture=machine.cpu.architecture,
        wsl=memory.wsl,
    )


def _weights(subject: Subject) -> int | None:
    try:
        return subject.total.whole_bytes
    except ProbeError:
        return sum(placement.size_bytes for placement in subject.placements) or None


def _available(memory: MemoryFacts) -> int:
    available = memory.working_available_bytes
    if available is None:
        raise ProbeError(
            "memory: this kernel tells no available memory, expected MemAvailable", fix="Linux 3.14 or newer"
        )
    return available


def make_pool(  # noqa: PLR0913 - what a run knows before its first episode
    request: Request,
    tier: Tier,
    machine: Machine,
    subject: Subject,
    *,
    asked: tuple[str, ...],
    say: Callable[[str], None],
    measured: Callable[[], MeasuredRoofs],
) -> Pool:
    """Make the pool of timed episodes; ProbeError when model or machine cannot be described to the engine.

    Only gates that are asked want further episodes; the chance of a false word is shared by all that the tier has.
    ``measured`` gives the roofs that were measured by then.
    """
    from streamworthy.criteria.statistical import asked_gates, more_wanted
    from streamworthy.engine.pool import Pool

    limits = {gate: limit for gate, limit in tier.limits.items() if gate in asked}
    return Pool(
        _make_task(request, tier, machine, subject),
        scratch=make_scratch(request.scratch),
        budget_seconds=BUDGET_SECONDS[request.depth],
        depth=request.depth,
        disturb=request.disturb,
        progress=say,
        gates_count=max(1, len(asked_gates(tier.limits))),
        wanted=lambda series: more_wanted(series, limits),
        measured=measured,
    )


def _make_task(request: Request, tier: Tier, machine: Machine, subject: Subject) -> EngineTask:
    from streamworthy.bench.hold import dense_places
    from streamworthy.engine.task import ANSWER_PROMPT, ANSWER_TOKENS, EngineTask
    from streamworthy.sample.reference import load_reference

    roofs = tier.reference.roofs
    reference = load_reference() if request.model is None else None
    return EngineTask(
        paths=tuple(subject.paths),
        dense=tuple(dense_places(subject.places)),
        file_bytes=sum(placement.size_bytes for placement in subject.placements),
        tensor_bytes=subject.sizes.total_bytes,
        bytes_per_token=subject.sizes.bytes_per_token,
        plan=tier.plan,
        threads=_threads(tier, machine),
        performance_cores_count=machine.cpu.performance_cores_count,
        available_bytes=_available(machine.memory),
        devices=_devices(machine),
        disk_bytes_per_second=roofs.disk_bytes_per_second,
        fault_bytes_per_second=roofs.disk_bytes_per_second * tier.reference.efficiency.mmap_share,
        memory_bytes_per_second=roofs.memory_bytes_per_second,
        slab_bytes=max(subject.sizes.slab_bytes, default=None),
        read_ahead=_read_ahead(machine),
        answer_prompt=reference.prompt if reference else ANSWER_PROMPT,
        answer_tokens=len(reference.answer_tokens) if reference else ANSWER_TOKENS,
        answer_reference=reference.answer_tokens if reference else None,
    )


def make_bench(request: Request, tier: Tier, machine: Machine, subject: Subject) -> Bench:
    """Make what measures disk and memory; ProbeError when the machine cannot be described to it."""
    from streamworthy.bench.bench import Bench
    from streamworthy.bench.disk import BUDGETS, Disk

    threads = _threads(tier, machine)
    return Bench(
        machine,
        subject,
        Disk(
            machine,
            subject,
            threads=threads,
            budget=BUDGETS[request.depth],
            disturb=request.disturb,
            scratch=lambda: make_scratch(request.scratch),
        ),
        threads=threads,
        depth=request.depth,
        available_bytes=_available(machine.memory),
    )


def _threads(tier: Tier, machine: Machine) -> int:
    threads = tier.plan.threads or machine.cpu.usable_cores_count
    if threads is None:
        raise ProbeError(f"threads: {machine.cpu.cores_unknown}", fix="give [engine] threads in a tier of your own")
    return threads


def _read_ahead(machine: Machine) -> ReadAheadFacts | None:
    try:
        return machine.read_ahead
    except ProbeError:
        return None


def _devices(machine: Machine) -> tuple[str, ...]:
    try:
        return tuple({leaf.name: None for volume in machine.volumes.volumes for leaf in volume.leaves})
    except ProbeError:
        return ()
