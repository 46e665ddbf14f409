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
_CPU_LINE = re.compile(r"^cpu +([0-9]{1,20}(?: [0-9]{1,20}){3,})(?![0-9])", re.MULTILINE)
_PROCESS = re.compile(r"[0-9]+ \((.*)\) \S((?: -?[0-9]{1,20})+)(?![0-9])", re.DOTALL | re.ASCII)
_SCHEDSTAT = re.compile(r"[0-9]{1,20} ([0-9]{1,20}) ", re.ASCII)  # time running, time waiting, slices
_NAMED_CORES = 0.05  # less is not worth a name
_NAMED_COUNT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessTime:
    """One line of /proc/PID/stat."""

    name: str
    ticks: int  # user and system time of all its threads
    major_faults: int
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
    """Read name, flags, faults and times of /proc/PID/stat; the name may hold blanks and brackets."""
    match = _PROCESS.match(text)
    fields = match[2].split() if match else []
    if match is None or len(fields) < 12:  # noqa: PLR2004 - stime is the twelfth behind the state
        raise ParseError("process times", where="/proc/PID/stat", found=text[:40], expected="PID (NAME) STATE NUMBERS")
    kernel = bool(int(fields[5]) & _KERNEL_THREAD)
    ticks = int(fields[10]) + int(fields[11])
    return ProcessTime(name=match[1], ticks=ticks, major_faults=int(fields[8]), kernel=kernel)


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
        match = _SCHEDSTAT.match(text or "")
        if match is not None:
            found[thread] = int(match[1])
    return found or None


def cpu_load_since(
    before: CpuSnapshot | None, root: Sysroot, *, pid: int | None, own: Collection[int], threads: int
) -> CpuLoad | None:
    """Tell who else computed since a snapshot; see cpu_load_between."""
    after, allowed = take_cpu_snapshot(root, pid), allowed_cores(root, pid)
    return cpu_load_between(before, after, pid=pid, own=own, threads=threads, allowed=allowed)


def cpu_load_between(  # noqa: PLR0913 - since when, until when, and what is known of the process
    before: CpuSnapshot | None,
    after: CpuSnapshot | None,
    *,
    pid: int | None,
    own: Collection[int],
    threads: int,
    allowed: float | None,
) -> CpuLoad | None:
    """Tell who else computed, and how long the process waited; None when there are no two snapshots to compare.

    ``own`` are process ids of this suite, ``threads`` how many the process computes with (0: not told), ``allowed``
    the cores that it may use.
    """
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
        allowed_cores=allowed,
        threads_count=threads,
        busiest=_busiest(after, {number: t for number, t in spent.items() if number not in mine}, per_core),
    )


def kswapd_cores_between(before: CpuSnapshot | None, after: CpuSnapshot | None) -> float | None:
    """Give the CPU time of the kernel's reclaim, in cores; None where its threads cannot be seen, as in containers."""
    if before is None or after is None:
        return None
    threads = [number for number, one in after.processes.items() if one.kernel and one.name.startswith("kswapd")]
    spent = _spent(before, after)
    elapsed = max(after.moment_seconds - before.moment_seconds, 1e-3)
    return sum(spent[number] for number in threads) / os.sysconf("SC_CLK_TCK") / elapsed if threads else None


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


def allowed_cores(root: Sysroot, pid: int | None) -> float | None:
    """Give how many cores a process may use, by affinity or quota; None when it is not told, or there is none."""
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
