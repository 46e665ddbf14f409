"""Why an engine process ended before it answered, from its exit status, its log and the kernel's OOM counters."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamworthy.engine.log import clean_log
from streamworthy.engine.remedies import REBUILD
from streamworthy.errors import EngineError, ProbeError

if TYPE_CHECKING:
    from streamworthy.probes.sysroot import Sysroot

LOG_TAIL_LINES = 12
_SHELL = 128
_NO_MEMORY = re.compile(r"insufficient memory|std::bad_alloc|failed to allocate")
LESS_MEMORY = "lower context_tokens in the tier's [engine] table, set repack = false, or give the engine more memory"
_OOM_KILL = re.compile(r"^oom_kill (\d+)$", re.MULTILINE)


class EngineDiedError(EngineError):
    """The engine crashed, hung, was killed or refused the model. ``log`` is the end of its log."""

    def __init__(self, message: str, *, fix: str, log: tuple[str, ...], out_of_memory: bool = False) -> None:
        """Take the line, what to do, the log, and whether the kernel killed it for lack of memory."""
        super().__init__(message, fix=fix)
        self.log = log
        self.out_of_memory = out_of_memory


@dataclass(frozen=True, slots=True, kw_only=True)
class OomCounters:
    """How often the out-of-memory killer has struck."""

    machine_count: int | None  # vmstat's oom_kill; None before Linux 4.13
    group_count: int | None  # of this process's memory cgroup; None outside of one, or where v1 lacks it


_NOT_COUNTED = OomCounters(machine_count=None, group_count=None)


def read_oom_counters(root: Sysroot) -> OomCounters:
    """Read the counters that tell an OOM kill from any other SIGKILL."""
    return OomCounters(
        machine_count=_count(root, "proc/vmstat"),
        group_count=_count(root, _group_file(root.read_optional("proc/self/cgroup") or "")),
    )


def _group_file(text: str) -> str:
    # v1 "4:memory:/path", v2 "0::/path"
    for line in text.split("\n"):
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if "memory" in controllers.split(","):
            return f"sys/fs/cgroup/memory{path.rstrip('/')}/memory.oom_control"
    path = next((line[3:] for line in text.split("\n") if line.startswith("0::")), "")
    return f"sys/fs/cgroup{path.rstrip('/')}/memory.events"


def _count(root: Sysroot, name: str) -> int | None:
    try:
        match = _OOM_KILL.search(root.read_optional(name) or "")
    except ProbeError:
        return None
    return int(match[1]) if match else None


def explain_death(status: int, *, doing: str, log: str, before: OomCounters, after: OomCounters) -> EngineDiedError:
    """Turn an exit status (negative: a signal, as subprocess gives it) into one clear line.

    ``doing`` is the command that got no answer.
    """
    lines = clean_log(log)
    grown = _grown(before, after)
    if _SHELL < status <= _SHELL + signal.NSIG:  # a wrapper around Python gives a signal as a shell does
        status = _SHELL - status
    starved = [line for line in lines if _NO_MEMORY.search(line)]
    if status == -signal.SIGABRT and starved:  # what is asserted is only that memory was given
        message, fix = f"SIGABRT for lack of memory: {starved[-1]}", LESS_MEMORY
    elif status >= 0:
        message, fix = f"ended with exit status {status}: {_last(lines)}", "see the log lines with this verdict"
    elif -status == signal.SIGKILL:
        message, fix = _explain_kill(grown, counted=before != _NOT_COUNTED)
    else:
        message, fix = _explain_signal(-status, lines, importing=doing == "prepare")
    return EngineDiedError(
        f"engine: while asked to {doing}: {message}",
        fix=fix,
        log=tuple(lines[-LOG_TAIL_LINES:]),
        out_of_memory=(-status == signal.SIGKILL and bool(grown)) or (-status == signal.SIGABRT and bool(starved)),
    )


def _grown(before: OomCounters, after: OomCounters) -> list[str]:
    return [
        f"{where} {old} -> {new}"
        for where, old, new in (
            ("of this cgroup", before.group_count, after.group_count),
            ("of the machine", before.machine_count, after.machine_count),
        )
        if old is not None and new is not None and new > old
    ]


def _explain_kill(grown: list[str], *, counted: bool) -> tuple[str, str]:
    if grown:
        return (
            f"killed by the kernel for lack of memory (oom_kill {', '.join(grown)})",
            LESS_MEMORY,
        )
    if not counted:
        return "killed (SIGKILL), likely for lack of memory: this kernel does not count", "dmesg | grep -i oom"
    return (
        "killed (SIGKILL) by another process: no OOM counter moved",
        "see who kills it: dmesg, systemd-oomd, earlyoom",
    )


def _explain_signal(number: int, lines: list[str], *, importing: bool) -> tuple[str, str]:
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    if number == signal.SIGILL:
        return f"{name}: illegal instruction, the engine was built for another CPU", REBUILD
    if importing:  # no shard is open yet
        return f"{name} while its libraries were loaded: one is cut short, or made for another system", REBUILD
    if number == signal.SIGBUS:
        return f"{name}: a mapped shard shrank or its device failed to read", "sha256sum -c SHA256SUMS; dmesg | tail"
    if number == signal.SIGABRT:
        asserted = [line for line in lines if "GGML_ASSERT" in line or "terminate called" in line]
        return f"{name}: {(asserted or [_last(lines)])[-1]}", "report this line to the engine's authors"
    return f"crashed with {name}, last log line: {_last(lines)}", "check the shards' hashes, then try a newer engine"


def _last(lines: list[str]) -> str:
    return lines[-1] if lines else "the log is empty"
