"""Machines of known truth, each made out of this one: what is done to it, and the cause that the suite has to name."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from streamworthy.criteria.confirmed import CONFIRMED
from tests.selftest.truth.groups import control_group, entering, has_hierarchy
from tests.selftest.truth.others import other
from tests.selftest.truth.suite import MAPPED, RATE
from tests.selftest.truth.volume import READ_AHEAD_KIB, Volume

MACHINES = {}
_SLOW_BYTES_PER_SECOND = 50 * 10**6
_MISSED = ("FAIL",)
_DIED = ("FAIL", "error")  # an engine that the kernel killed gives no number
_OPEN = ("FAIL", "inconclusive")  # a limit that is missed beside others is not this machine's fault


@dataclass(frozen=True, kw_only=True)
class Lab:
    """What machines are made of: the disk with the sample, and what the suite and its engine need without weights."""

    volume: Volume
    folder: Path
    base_bytes: int

    def memory(self, share, **settings):
        """Make a machine with memory for a share of the weights, beside what the suite and its engine need."""
        limit = self.base_bytes + int(share * self.volume.weights_bytes)
        return control_group("memory", limit_in_bytes=limit, **settings)


@dataclass(frozen=True, kw_only=True)
class Setup:
    """How the suite is started on a machine; ``times`` the usual share of what a healthy one gives is asked of it."""

    groups: tuple[Path, ...] = ()
    before: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    plan: dict[str, str] = field(default_factory=dict)
    times: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Machine:
    """One row of the table. ``make`` takes a lab and an Undo, and gives the setup; the stack undoes it."""

    name: str
    cause: str  # "" for a healthy one
    gate: str
    words: tuple[str, ...]
    reads: bool  # weights have to come from the device
    shows: bool  # what is changed on purpose bears the cause out
    lacks: str  # why it cannot be made here, "" when it can
    make: object


def machine(name, cause, *, gate=RATE, words=_MISSED, reads=False, shows=None, lacks=""):
    """Make the decorated function one of the machines."""

    def keep(make):
        shown = cause in CONFIRMED if shows is None else shows
        MACHINES[name] = Machine(
            name=name, cause=cause, gate=gate, words=words, reads=reads, shows=shown, lacks=lacks, make=make
        )
        return make

    return keep


_NO_BLKIO = "" if has_hierarchy("blkio") else "no version 1 blkio hierarchy"
_NO_SWAP = "" if Path("/proc/swaps").exists() else "this kernel has no swap"
_ONE_CPU = "" if len(os.sched_getaffinity(0)) > 1 else "one CPU only"


@machine("healthy", "", words=("pass",))
def _healthy(lab, undo):
    return Setup()


@machine("healthy, for a tier of faster ones", "compute", shows=False)  # one thread is as fast: experts are too small
def _asked_more(lab, undo):
    return Setup(times=3.0)


def _with_memory(divisor):
    @machine(f"RAM 1/{divisor}", "memory capacity", reads=True)
    def _small(lab, undo):
        return Setup(groups=(undo.enter_context(lab.memory(1 / divisor)),))


for _divisor in (2, 4, 8, 16):
    _with_memory(_divisor)


@machine("RAM 1/2, read-ahead 8 MiB", "read-ahead", reads=True)
def _wide(lab, undo):
    undo.callback(lab.volume.set_read_ahead, READ_AHEAD_KIB)
    lab.volume.set_read_ahead(8192)
    return Setup(groups=(undo.enter_context(lab.memory(1 / 2)),), plan={"decode_tokens": "4"})  # of 1.5 GB each


@machine("RAM 1/2, disk at 50 MB/s", "disk", reads=True, lacks=_NO_BLKIO)
def _throttled(lab, undo):
    rate = {"throttle.read_bps_device": f"{lab.volume.number} {_SLOW_BYTES_PER_SECOND}"}
    groups = lab.memory(1 / 2), control_group("blkio", **rate)
    return Setup(groups=tuple(map(undo.enter_context, groups)))


@machine("RAM 1/2, competing reader", "other load", words=_OPEN, reads=True)
def _competing(lab, undo):
    undo.enter_context(other("reader", lab.volume.competitor))
    return Setup(groups=(undo.enter_context(lab.memory(1 / 2)),), options=("--disturb",))


@machine("half of the cores busy", "other load", words=_OPEN)
def _busy(lab, undo):
    for _ in range(max(1, len(os.sched_getaffinity(0)) // 2)):
        undo.enter_context(other("hog"))
    return Setup()


@machine("half of the CPUs for all threads", "engine configuration", lacks=_ONE_CPU)
def _cramped(lab, undo):
    cpus = sorted(os.sched_getaffinity(0))
    half = ",".join(map(str, cpus[: len(cpus) // 2]))
    return Setup(before=("taskset", "--cpu-list", half), plan={"threads": str(len(cpus))})


@machine("RAM 1/2, repack, swap", "swap", lacks=_NO_SWAP)
def _swapping(lab, undo):
    undo.enter_context(_swap(lab.folder / "swap", 2 * lab.volume.weights_bytes))
    return Setup(groups=(undo.enter_context(lab.memory(1 / 2, swappiness=100)),), plan={"repack": "true"})


@machine("repack against the tier", "engine configuration", gate=MAPPED)
def _repacking(lab, undo):
    disobedient = Path(__file__).with_name("disobedient")
    return Setup(environment={"PYTHONPATH": os.pathsep.join(map(str, (Path(__file__).parents[3], disobedient)))})


@machine("RAM 1/2, mmap off", "engine configuration", words=_DIED)
def _copying(lab, undo):
    return Setup(groups=(undo.enter_context(lab.memory(1 / 2)),), plan={"mmap": "false"})


@machine("RAM 1/2, all weights locked", "engine configuration", words=_DIED)
def _locking(lab, undo):
    return Setup(groups=(undo.enter_context(lab.memory(1 / 2)),), plan={"lock": '"weights"'})


@machine("shards evicted during the run", "cache disturbed", words=_OPEN)
def _evicting(lab, undo):
    group = undo.enter_context(lab.memory(2))
    undo.enter_context(other("pageout", group, lab.volume.shards[-1]))
    return Setup(groups=(group,), plan={"decode_tokens": "16"})  # long enough to be met by an eviction


@machine("memory taken after the load", "cache disturbed", words=_OPEN)
def _cooling(lab, undo):
    group, taken = undo.enter_context(lab.memory(1.3)), int(0.8 * lab.volume.weights_bytes)
    undo.enter_context(other("ballast", group, lab.volume.shards[-1], taken, before=entering(group)))
    return Setup(groups=(group,))


@contextmanager
def _swap(path, size_bytes):
    """Swap to a file."""
    try:
        with path.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, size_bytes)
        path.chmod(0o600)
        subprocess.run(["mkswap", path], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["swapon", path], check=True)
        yield
    finally:
        if str(path) in Path("/proc/swaps").read_text():
            subprocess.run(["swapoff", path], check=True)
        path.unlink(missing_ok=True)
