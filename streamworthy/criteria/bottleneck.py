"""What holds a slow engine back, told from counters: one word, why, and what to do. Pure.

Counters only suspect: an intervention (``interventions.py``) confirms. Rules are asked in order, and the first that
holds is the cause: what is a setting comes before what is a lack, because it is cheaper to mend. Their bounds were
chosen on machines of known truth (``make truth``) with one sample model and hold on others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamworthy.criteria.read_ahead import advised_fix, describe_read_ahead
from streamworthy.facts.cause import Cause
from streamworthy.units import format_bytes, format_rate, format_share

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamworthy.criteria.picture import Picture
    from streamworthy.facts.workload import Workload

NEAR_NOTHING_SHARE = 0.02  # of a token's bytes: logs, late binding, a page that DAMON took
_SWAPPED_SHARE, _SWAPPED_BYTES_PER_SECOND = 0.3, 10**6
_ANONYMOUS_SHARE = 0.6  # copied weights give 1.1 of the files, an engine without them a third of a small sample
_SLOW_CLOCK_SHARE = 0.6  # while the CPU is busy; a sustained clock is not the boost clock that it is compared with
_BUSY_CORES_SHARE = 0.5
_BANDWIDTH_SHARE = 0.7  # of the roof: what is left is the engine's inner loop
_WASTE_RATIO = 3.0  # two thirds of what is read are in vain
_FAULT_SLABS = 2.0  # a fault brings what nobody asked for
# Who waits for a device keeps it busy: 0.9 seconds of it a second of waiting were seen, 0.06 where a limit held reads
# back before the device.
_LIMITED_WAIT_SHARE, _LIMITED_BUSY_RATIO = 0.2, 0.25
_REFAULTED_SHARE = 0.5
_FAULTS_BIND_SHARE = 0.5  # of what the drive gives without page faults
_SLOW_DISK_SHARE = 0.5  # of what the tier's disk gives to page faults


@dataclass(frozen=True, slots=True, kw_only=True)
class Bottleneck:
    """One cause: ``confirmed`` by an intervention, else suspected."""

    word: Cause
    reason: str
    fix: tuple[str, ...]
    confirmed: bool = False

    @property
    def told(self) -> str:
        """One line: ``read-ahead (suspected): ...``."""
        return f"{self.word} ({'confirmed' if self.confirmed else 'suspected'}): {self.reason}"


def find_bottleneck(seen: Picture) -> Bottleneck:
    """Give the first cause whose signs are there; the disk is what is left where experts are read."""
    reads = seen.read_per_token_bytes > NEAR_NOTHING_SHARE * seen.workload.bytes_per_token
    for rule in (*_SETTINGS, *(_READING if reads else ())):
        found = rule(seen)
        if found:
            return found
    return _disk(seen) if reads else _processor(seen)


def _swap(seen: Picture) -> Bottleneck | None:
    share, rate = seen.swapped_in_share, seen.swapped_in_bytes_per_second
    if share is None or rate is None or share < _SWAPPED_SHARE or rate < _SWAPPED_BYTES_PER_SECOND:
        return None
    return Bottleneck(
        word=Cause.SWAP,
        reason=f"{format_rate(rate)} come back from swap, {format_share(min(1.0, share))} of what is read",
        fix=(
            "swapon --show; grep -E 'VmSwap|RssAnon' /proc/*/status | sort -k2 -n | tail",
            "in [engine]: repack = false and mmap = true, or fewer context_tokens: what the engine allocates must fit",
        ),
    )


def _copied_weights(seen: Picture) -> Bottleneck | None:
    share = seen.anonymous_share
    if share is None or share < _ANONYMOUS_SHARE:
        return None
    if seen.decoding and seen.read_per_token_bytes <= NEAR_NOTHING_SHARE * seen.workload.bytes_per_token:
        return None  # they fit: what is slow then is something else
    return Bottleneck(
        word=Cause.ENGINE_CONFIGURATION,
        reason=f"the engine holds {format_share(share)} of the weights in its own memory (repack, or mmap off), "
        "which leaves less for the page cache",
        fix=("in [engine]: repack = false, mmap = true",),
    )


def _few_cores(seen: Picture) -> Bottleneck | None:
    if seen.allowed_cores is None:
        return None
    return Bottleneck(
        word=Cause.ENGINE_CONFIGURATION,
        reason=f"the engine's {seen.workload.threads_count} threads may use {seen.allowed_cores:g} CPUs (affinity or "
        "quota) and wait for each other",
        fix=("taskset -cp $$                # the CPUs that this shell may use", "cat /sys/fs/cgroup/cpu.max"),
    )


def _throttled(seen: Picture) -> Bottleneck | None:
    busy = seen.engine_cores is None or seen.engine_cores > _BUSY_CORES_SHARE * seen.workload.threads_count
    slow = seen.clock_share is not None and seen.clock_share < _SLOW_CLOCK_SHARE and busy
    if not seen.throttle_count and not slow:
        return None
    told = [f"{seen.throttle_count:.0f} thermal events"] if seen.throttle_count else []
    told += [f"the clock fell to {format_share(seen.clock_share)} of its best"] if slow and seen.clock_share else []
    return Bottleneck(
        word=Cause.THROTTLING,
        reason=" and ".join(told) + " while the engine computed",
        fix=("sensors; cpupower frequency-info", "mend cooling or power (battery, power limit), then run again"),
    )


def _read_ahead(seen: Picture) -> Bottleneck | None:
    work = seen.workload
    if not seen.decoding or work.slab_bytes is None or seen.read_per_fault_bytes is None:
        return None
    in_vain = seen.read_per_token_bytes / work.bytes_per_token
    wide = _widest_window(seen)
    likely = 1 + 2 * wide / work.slab_bytes if wide else 0.0
    if seen.read_per_fault_bytes < _FAULT_SLABS * work.slab_bytes or max(in_vain, likely) < _WASTE_RATIO:
        return None
    return Bottleneck(
        word=Cause.READ_AHEAD,
        reason=f"{format_bytes(seen.read_per_token_bytes)} are read a token that needs at most "
        f"{format_bytes(work.bytes_per_token)}: a fault brings {format_bytes(seen.read_per_fault_bytes)} for a slab of "
        f"{format_bytes(work.slab_bytes)}" + (f"; {describe_read_ahead(work.read_ahead)}" if work.read_ahead else ""),
        fix=(advised_fix(work.read_ahead, work.slab_bytes) if work.read_ahead else ())
        or ("cat /sys/block/*/queue/read_ahead_kb", "see storage.read_ahead"),
    )


def _widest_window(seen: Picture) -> int:
    known = seen.workload.read_ahead.devices if seen.workload.read_ahead else ()
    return max((device.read_ahead_bytes or 0 for device in known), default=0)


def _limited_disk(seen: Picture) -> Bottleneck | None:
    wait, busy = seen.io_wait_share, seen.device_busy_share
    if wait is None or busy is None or wait < _LIMITED_WAIT_SHARE or busy > _LIMITED_BUSY_RATIO * wait:
        return None
    return Bottleneck(
        word=Cause.DISK,
        reason=f"reads are waited for {format_share(wait)} of the time while the device is busy {format_share(busy)}: "
        f"a limit holds them at {format_rate(seen.read_bytes_per_second)}",
        fix=(
            "see storage.read_limit: what control groups let be read",
            "where it names none, the hypervisor or the cloud disk's plan limits the volume",
        ),
    )


def _lacking_memory(seen: Picture) -> Bottleneck | None:
    if seen.refaulted_share is None or seen.refaulted_share < _REFAULTED_SHARE or _disk_is_slow(seen):
        return None
    return Bottleneck(
        word=Cause.MEMORY_CAPACITY,
        reason=f"{format_share(min(1.0, seen.refaulted_share))} of what is read had been in the page cache and was "
        f"dropped for lack of memory, {format_bytes(seen.read_per_token_bytes)} a token",
        fix=(
            "ps aux --sort=-rss | head             # memory that others take is page cache lost",
            "more RAM, or a smaller quantisation: streamworthy inspect MODEL shows the ledger",
            *_prompt_fix(seen),
        ),
    )


def _disk_is_slow(seen: Picture) -> bool:
    """Tell whether reads come slower than the tier's disk gives them, over the time in which somebody waits."""
    wait = seen.io_wait_share
    return bool(wait) and seen.read_bytes_per_second / (wait or 1.0) < (
        _SLOW_DISK_SHARE * seen.workload.fault_bytes_per_second
    )


def _disk(seen: Picture) -> Bottleneck:
    wait = "" if seen.io_wait_share is None else f", which is waited for {format_share(seen.io_wait_share)} of the time"
    best = seen.workload.measured.disk_bytes_per_second
    faults_bind = best is not None and seen.read_bytes_per_second < _FAULTS_BIND_SHARE * best
    if faults_bind and best is not None:
        wait += f"; the drive gives {format_rate(best)} past the page cache, so page faults bind and not the drive"
    return Bottleneck(
        word=Cause.DISK,
        reason=f"{format_bytes(seen.read_per_token_bytes)} {'a token' if seen.tokens_per_second else 'in all'} come at "
        f"{format_rate(seen.read_bytes_per_second)}{wait}",
        fix=(*(_FAULTS_FIX if faults_bind else _DISK_FIX), *_prompt_fix(seen)),
    )


_DISK_FIX = (
    "see disk.sequential_read and disk.slab_read: what the drive gives without an engine",
    "lsblk -o +TRAN",
)
_FAULTS_FIX = (
    "no other drive: in [engine] as many threads as there are cores, since each waits for one fault at a time",
    "cat /sys/block/*/queue/read_ahead_kb   # what one fault brings; see storage.read_ahead for the size that fits",
)


def _prompt_fix(seen: Picture) -> tuple[str, ...]:
    if seen.decoding or not seen.tokens_per_second:
        return ()
    return ("raise ubatch_tokens in the tier's [engine] table: a prompt reads the weights once for each ubatch",)


def _processor(seen: Picture) -> Bottleneck:
    work = seen.workload
    roof = work.measured.memory_bytes_per_second or work.memory_bytes_per_second
    part = seen.tokens_per_second * work.bytes_per_token / roof
    whose = "tier's" if work.measured.memory_bytes_per_second is None else "machine's"
    known = work.measured.memory_bytes_per_second is not None or part <= 1  # beyond the tier's, this memory is faster
    if known and part > _BANDWIDTH_SHARE:
        return Bottleneck(
            word=Cause.MEMORY_BANDWIDTH,
            reason=f"nothing is read, and weights come at {format_share(part)} of the memory's {format_rate(roof)}",
            fix=("sudo dmidecode -t memory | grep -E 'Locator|Speed'   # every channel filled, at its speed?",),
        )
    cores = "" if seen.engine_cores is None else f", {seen.engine_cores:.1f} cores of {work.threads_count} are busy"
    return Bottleneck(
        word=Cause.COMPUTE,
        reason=f"nothing is read, weights come at {format_rate(part * roof)} of the {whose} memory's "
        f"{format_rate(roof)}{cores}",
        fix=("lscpu | grep -E 'Flags|MHz'", _threads_fix(work)),
    )


def _threads_fix(work: Workload) -> str:
    fast = work.performance_cores_count
    if fast is None or fast >= work.threads_count:
        return "in [engine]: threads = the number of physical cores"
    return f"in [engine]: threads = {fast}    # the performance cores alone: each step waits for the slowest core"


_SETTINGS: tuple[Callable[[Picture], Bottleneck | None], ...] = (_swap, _copied_weights, _few_cores, _throttled)
_READING: tuple[Callable[[Picture], Bottleneck | None], ...] = (_read_ahead, _limited_disk, _lacking_memory)
