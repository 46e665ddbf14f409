"""Who else computes: CPU time of other processes, and how long the engine's threads waited for a CPU.

Sources: /proc/stat, /proc/PID/stat (proc(5)), /proc/PID/task/TID/schedstat (Documentation/scheduler/sched-stats.rst:
time on the CPU, time waiting on a run queue, both in nanoseconds).
"""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamworthy.errors import ParseError, ProbeError
from streamworthy.facts.cpu_load import CpuLoad
from streamworthy.probes.cgroup import probe_cpu_quota
from streamworthy.probes.process_limits import parse_status

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from streamworthy.probes.sysroot import Sysroot

_KERNEL_THREAD = 0x00200000  # PF_KTHREAD, include/linux/sched.h
_CPU_LINE = re.compile(r"^cpu +([0-9]+(?: [0-9]+){3,})", re.MULTILINE)
_PROCESS = re.compile(r"[0-9]+ \((.*)\) \S ([-0-9 ]+)", re.DOTALL)
_NAMED_CORES = 0.05  # less is not worth a name
_NAMED_COUNT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessTime:
    """One line of /proc/PID/stat."""

    name: str
    ticks: int  # user and system time of all its threads
    kernel: bool  # a thread of the kernel


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuSnapshot:
    """Counters at one moment; ``processes`` are those that can be seen, by process id."""

    moment_seconds: float
    busy_ticks: int  # user, nice and system time of all CPUs
    steal_ticks: int
    processes: Mapping[int, ProcessTime]
    waits: Mapping[str, int] | None  # nanoseconds by thread id of the engine; None: kernel without schedstat


def parse_cpu_line(text: str) -> tuple[int, int]:
    """Read busy and stolen ticks of all CPUs from /proc/stat. ParseError when its first line is another one."""
    match = _CPU_LINE.search(text)
    if match is None:
        raise ParseError("CPU times", where="/proc/stat", found=text[:40], expected="cpu USER NICE SYSTEM IDLE ...")
    fields = [int(field) for field in match[1].split()]
    return sum(fields[:3]), fields[7] if len(fields) > 7 else 0  # noqa: PLR2004 - steal is the eighth, since 2.6.11


def parse_process_stat(text: str) -> ProcessTime:
    """Read name, flags and times of /proc/PID/stat; the name may hold blanks and brackets."""
    match = _PROCESS.match(text)
    fields = match[2].split() if match else []
    if match is None or len(fields) < 12:  # noqa: PLR2004 - stime is the twelfth behind the state
        raise ParseError("process times", where="/proc/PID/stat", found=text[:40], expected="PID (NAME) STATE NUMBERS")
    kernel = bool(int(fields[5]) & _KERNEL_THREAD)
    return ProcessTime(name=match[1], ticks=int(fields[10]) + int(fields[11]), kernel=kernel)


def take_cpu_snapshot(root: Sysroot, pid: int | None) -> CpuSnapshot | None:
    """Read the counters, and the waits of one process; None where the kernel keeps its times to itself."""
    try:
        busy, steal = parse_cpu_line(root.read_text("proc/stat"))
    except ProbeError:
        return None
    return CpuSnapshot(
        moment_seconds=time.monotonic(),
        busy_ticks=busy,
        steal_ticks=steal,
        processes=_process_times(root),
        waits={} if pid is None else _waits(root, pid),
    )


def _process_times(root: Sysroot) -> dict[int, ProcessTime]:
    found = {}
    for name in root.names("proc"):
        if name.isdigit():
            try:
                found[int(name)] = parse_process_stat(root.read_text(f"proc/{name}/stat"))
            except ProbeError:  # it has ended
                continue
    return found


def _waits(root: Sysroot, pid: int) -> dict[str, int] | None:
    found = {}
    for thread in root.names(f"proc/{pid}/task"):
        try:
            text = root.read_optional(f"proc/{pid}/task/{thread}/schedstat")
        except ProbeError:  # the thread has ended
            continue
        fields = (text or "").split()
        if len(fields) >= 2:  # noqa: PLR2004 - time running, time waiting
            found[thread] = int(fields[1])
    return found or None


def cpu_load_since(
    before: CpuSnapshot | None, root: Sysroot, *, pid: int | None, own: Collection[int], threads: int
) -> CpuLoad | None:
    """Tell who else computed since a snapshot, and how long the process waited; None when there is none to compare.

    ``own`` are process ids of this suite, ``threads`` how many the process computes with (0: not told).
    """
    after = take_cpu_snapshot(root, pid)
    if before is None or after is None:
        return None
    elapsed = max(after.moment_seconds - before.moment_seconds, 1e-3)
    per_core = elapsed * os.sysconf("SC_CLK_TCK")
    mine = {os.getpid(), *own} | ({pid} if pid is not None else set())
    spent = _spent(before, after)
    silent = sum(ticks for number, ticks in spent.items() if number in mine or after.processes[number].kernel)
    others = max(0, after.busy_ticks - before.busy_ticks - silent)
    return CpuLoad(
        others_cores=others / per_core,
        steal_cores=max(0, after.steal_ticks - before.steal_ticks) / per_core,
        wait_share=_wait_seconds(before, after, elapsed),
        allowed_cores=_allowed_cores(root, pid),
        threads_count=threads,
        busiest=_busiest(after, {number: t for number, t in spent.items() if number not in mine}, per_core),
    )


def _spent(before: CpuSnapshot, after: CpuSnapshot) -> dict[int, int]:
    def earlier(number: int, now: ProcessTime) -> int:
        then = before.processes.get(number)
        return then.ticks if then is not None and then.ticks <= now.ticks else 0  # else its id was given anew

    return {number: now.ticks - earlier(number, now) for number, now in after.processes.items()}


def _wait_seconds(before: CpuSnapshot, after: CpuSnapshot, elapsed: float) -> float | None:
    if after.waits is None or before.waits is None:
        return None
    waited = sum(wait - before.waits.get(thread, 0) for thread, wait in after.waits.items())
    return waited / 1e9 / elapsed


def _busiest(after: CpuSnapshot, spent: Mapping[int, int], per_core: float) -> tuple[str, ...]:
    users = {number: ticks for number, ticks in spent.items() if not after.processes[number].kernel}
    first = sorted(users, key=lambda number: -users[number])[:_NAMED_COUNT]
    return tuple(
        f"{after.processes[number].name} (pid {number}), {users[number] / per_core:.2f} of a core"
        for number in first
        if users[number] / per_core >= _NAMED_CORES
    )


def _allowed_cores(root: Sysroot, pid: int | None) -> float | None:
    if pid is None:
        return None
    try:
        allowed = float(len(parse_status(root.read_text(f"proc/{pid}/status")).allowed_cpus))
    except ProbeError:
        return None
    try:
        quota = probe_cpu_quota(root)  # a child is in our control group
    except ProbeError:
        quota = None
    return min(allowed, quota) if quota is not None else allowed
