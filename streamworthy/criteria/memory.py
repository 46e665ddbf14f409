"""Whether memory, its limits, swap and locked memory are what the tier needs. Swap never counts as memory."""

from __future__ import annotations

import math
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from streamworthy.criteria.address_limits import judge_address_space
from streamworthy.criteria.available_memory import ADD_MEMORY, judge_available
from streamworthy.criteria.finding import worst
from streamworthy.criteria.group_limits import raise_limit
from streamworthy.criteria.memory_holders import why_ballooned
from streamworthy.criteria.spec import bounds, format_required, optional, required, within
from streamworthy.criteria.swap_disks import emptying, judge_swap
from streamworthy.criteria.wsl import configure, give_memory
from streamworthy.units import BYTES, COUNT, format_bytes
from streamworthy.verdict import Verdict, Word, not_applicable, unknown, verdict

if TYPE_CHECKING:
    from streamworthy.criteria.spec import Limit
    from streamworthy.facts.memory import AddressSpaceFacts, MemlockFacts, MemoryFacts, SwapFacts

_NO_SWAP = "no swap is configured"


@bounds(at_least=required(BYTES))
def total(memory: MemoryFacts, limit: Limit) -> Verdict:
    """Judge the memory that the kernel has (MemTotal, a little less than is installed)."""
    lacking = limit.values["at_least"] - memory.total_bytes
    cause, fix = why_ballooned(memory, lacking) or ("this machine has less memory than the tier's class", ADD_MEMORY)
    if memory.wsl:
        cause = "Windows gives this WSL guest only a part of its memory, by default half"
        fix = give_memory(limit.values["at_least"])
    return within(memory.total_bytes, limit, BYTES, cause=cause, fix=fix)


@bounds(at_least=required(BYTES))
def available(memory: MemoryFacts, limit: Limit) -> Verdict:
    """Judge what the engine may still allocate; page cache is available, in control groups too."""
    found = memory.working_available_bytes
    system = memory.claimable_bytes
    if system is not None and system < limit.values["at_least"]:
        return judge_available(system, memory, limit)
    if found is None or memory.groups_unknown:
        fix = _GROUPS_FIX if memory.groups_unknown else "free --bytes"
        return unknown(f"available memory is not known: {memory.groups_unknown or _untold(memory)}", fix)
    return judge_available(found, memory, limit)


def _untold(memory: MemoryFacts) -> str:
    if memory.available_bytes is None:
        return "/proc/meminfo has no MemAvailable (kernels before 3.14)"
    return "a control group has a memory limit but tells no usage"


_GROUPS_FIX = (
    "findmnt --types cgroup,cgroup2  # the container's own has to be mounted, not the host's: docker run without "
    "--volume /sys/fs/cgroup, or with --cgroupns=host; or judge the host itself"
)


@bounds(at_least=required(BYTES))
def limit(memory: MemoryFacts, limit: Limit) -> Verdict:
    """Judge the smallest memory limit of the control groups up to the root; no limit passes."""
    if memory.groups_unknown:
        return unknown(f"memory limit is not known: {memory.groups_unknown}", _GROUPS_FIX)
    group = memory.limiting_group
    if group is None or group.limit_bytes is None:
        found = verdict(Word.PASS, measured="no limit", required=format_required(BYTES, limit), unit=BYTES.unit)
    else:
        effective = min(group.limit_bytes, memory.total_bytes)
        evidence = (f"cgroup={group.path}", f"version={group.version}", f"limit={format_bytes(group.limit_bytes)}")
        cause = f"control group {group.path} limits memory, page cache included"
        fix = raise_limit(group, limit.values["at_least"])
        if effective < group.limit_bytes:
            cause, fix = "the machine has less memory than its control group allows", ADD_MEMORY
        found = within(effective, limit, BYTES, cause=cause, fix=fix, evidence=evidence)
    return _warn_of_throttling(found, memory, limit)


def _warn_of_throttling(found: Verdict, memory: MemoryFacts, limit: Limit) -> Verdict:
    group = memory.throttling_group
    if group is None or group.high_bytes is None or found.word is not Word.PASS:
        return found
    if group.high_bytes >= limit.values["at_least"]:
        return found
    return replace(
        found,
        word=Word.ADVICE,
        cause=f"control group {group.path} is slowed down above {format_bytes(group.high_bytes)} (memory.high)",
        fix=raise_limit(group, limit.values["at_least"], setting="MemoryHigh"),
    )


@bounds()
def memlock(memlock: MemlockFacts, proved_bytes: int | None, limit: Limit) -> Verdict:  # noqa: ARG001 - no bounds
    """Judge whether the engine's process may lock what the tier locks.

    By what an engine child did lock (``proved_bytes``, VmLck) where that was tried, else by the process's soft limit
    or its capability.
    """
    allowed = _format_allowed(memlock)
    if memlock.need_bytes <= 0:
        return not_applicable("the tier locks no memory", measured=allowed)
    enough = memlock.enough if proved_bytes is None else proved_bytes >= memlock.need_bytes
    cause, fix = ("", ()) if enough else _why_locked_out(memlock)
    return verdict(
        Word.PASS if enough else Word.FAIL,
        measured=allowed,
        required=f"at least {format_bytes(memlock.need_bytes)} to be locked",
        value=memlock.soft_bytes,
        unit=BYTES.unit,
        cause=cause,
        fix=fix,
        evidence=_memlock_evidence(memlock, proved_bytes),
    )


def _format_allowed(memlock: MemlockFacts) -> str:
    limit = _bytes_or_unlimited(memlock.soft_bytes)
    return f"unlimited (CAP_IPC_LOCK; limit {limit})" if memlock.capable else limit


def _bytes_or_unlimited(value: int | None) -> str:
    return "unlimited" if value is None else format_bytes(value)


def _memlock_evidence(memlock: MemlockFacts, proved_bytes: int | None) -> tuple[str, ...]:
    already = () if memlock.locked_bytes is None else (f"already_locked={format_bytes(memlock.locked_bytes)}",)
    proved = () if proved_bytes is None else (f"locked_by_an_engine_child={format_bytes(proved_bytes)}",)
    soft, hard = _bytes_or_unlimited(memlock.soft_bytes), _bytes_or_unlimited(memlock.hard_bytes)
    return (
        f"process={memlock.process}",
        f"soft={soft}",
        f"hard={hard}",
        f"cap_ipc_lock={memlock.capable}",
        *already,
        *proved,
    )


def _why_locked_out(memlock: MemlockFacts) -> tuple[str, tuple[str, ...]]:
    kib = -(-memlock.need_bytes // 2**10)
    if memlock.hard_bytes is None or memlock.hard_bytes >= memlock.need_bytes:
        cause = (
            f"the soft limit is lower than the hard one ({_bytes_or_unlimited(memlock.hard_bytes)}), which is enough"
        )
        return cause, (f"ulimit -S -l {kib}", "then start the engine from the same shell")
    if memlock.confined:
        cause = "RLIMIT_MEMLOCK is too low; CAP_IPC_LOCK counts in the first user namespace only, and this is another"
        return cause, (
            "rootless container: raise its user's own limit on the host first: LimitMEMLOCK=infinity in user@.service",
            f"login shell: echo '* - memlock {kib}' | sudo tee /etc/security/limits.d/memlock.conf, then log in again",
            "then: podman run --ulimit memlock=-1:-1, or docker run --ulimit memlock=-1:-1",
        )
    return "RLIMIT_MEMLOCK is too low and the process has no CAP_IPC_LOCK", (
        f"login shell: echo '* - memlock {kib}' | sudo tee /etc/security/limits.d/memlock.conf, then log in again",
        "service (limits.d is not read): LimitMEMLOCK=infinity in the unit, then systemctl daemon-reload",
        "container: docker run --ulimit memlock=-1:-1",
    )


@bounds()
def address_space(facts: AddressSpaceFacts, limit: Limit) -> Verdict:  # noqa: ARG001 - no bounds
    """Judge whether the engine's process may map the shards beside its own memory."""
    return judge_address_space(facts)


@bounds()
def swap_location(swap: SwapFacts, limit: Limit) -> Verdict:  # noqa: ARG001 - judged by the disks themselves
    """Judge the disks under swap: spinning ones fail, the model's own one is advised against."""
    if not swap.devices:
        return not_applicable(f"{_NO_SWAP}, which is fine", measured="none")
    return worst([judge_swap(device, swap) for device in swap.devices], required="on flash, apart from the model")


@bounds(at_least=optional(BYTES), at_most=optional(BYTES))
def swap_size(swap: SwapFacts, limit: Limit) -> Verdict:
    """Judge the size of swap; zram keeps its pages in memory, so it is no cushion and counts for at_most alone."""
    low = limit.values.get("at_least")
    evidence = (f"outside_memory={format_bytes(swap.cushion_bytes)}", f"all={format_bytes(swap.size_bytes)}")
    if low is not None and swap.cushion_bytes < low:
        return within(
            swap.cushion_bytes, limit, BYTES, cause=_why_short(swap), fix=_make_swap(low, swap), evidence=evidence
        )
    fix = tuple(f"sudo swapoff {shlex.quote(device.path)}" for device in swap.devices)
    if swap.wsl:
        fix = configure(f"swap={int(limit.values['at_most'] // 2**30)}GB")
    cause = "so much swap lets weights be written out instead of ending the program that is too large"
    return within(swap.size_bytes, limit, BYTES, cause=cause, fix=fix, evidence=evidence)


def _why_short(swap: SwapFacts) -> str:
    if not swap.devices:
        return f"{_NO_SWAP}, so a short peak ends the engine (OOM killer)"
    if swap.cushion_bytes < swap.size_bytes:
        return "zram is swap inside the memory that is short, so it is no cushion"
    return "swap is too small a cushion against a short peak (OOM killer)"


def _make_swap(size_bytes: float, swap: SwapFacts) -> tuple[str, ...]:
    if swap.wsl:
        return configure(f"swap={math.ceil(size_bytes / 2**30)}GB")
    mib = -(-int(size_bytes) // 2**20)
    return (
        f"sudo dd if=/dev/zero of=/swapfile bs=1M count={mib}",
        "sudo chmod 600 /swapfile",
        "sudo mkswap /swapfile",
        "sudo swapon /swapfile",
    )


@bounds(at_most=required(BYTES))
def swap_in_use(swap: SwapFacts, limit: Limit) -> Verdict:
    """Judge how much is in swap now."""
    if not swap.devices:
        return not_applicable(_NO_SWAP, measured="none")
    evidence = tuple(f"{device.path}={format_bytes(device.used_bytes)}" for device in swap.devices)
    cause = "memory ran short earlier and programs' pages are still in swap"
    used = [device for device in swap.devices if device.used_bytes and device.kind != "virtual"]
    fix = ("ps -eo rss,pid,comm --sort=-rss | head", *map(emptying, used))
    return within(swap.used_bytes, limit, BYTES, cause=cause, fix=fix, evidence=evidence)


@bounds(at_most=required(COUNT))
def swappiness(swap: SwapFacts, limit: Limit) -> Verdict:
    """Judge how readily the kernel swaps programs out to keep page cache (0 to 200)."""
    found = swap.swappiness
    if not swap.devices:
        return not_applicable(_NO_SWAP, measured="none" if found is None else COUNT.format(found))
    if found is None:
        return unknown("vm.swappiness is not told by this system")
    if not swap.cushion_bytes:  # Documentation/admin-guide/sysctl/vm.rst: beyond 100 for swap in memory
        return not_applicable(
            "all swap is compressed memory (zram), for which high values are meant", measured=COUNT.format(found)
        )
    wanted = COUNT.format(limit.values["at_most"])
    cause = "page cache of streamed weights pushes programs out to swap"
    return within(found, limit, COUNT, cause=cause, fix=(f"sudo sysctl vm.swappiness={wanted}",))
