"""Whether the processor can run the engine as the tier expects."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from streamworthy.criteria.clock import judge_clock
from streamworthy.criteria.spec import bounds, required, within
from streamworthy.units import COUNT, WORDS
from streamworthy.verdict import Verdict, Word, unknown, verdict

if TYPE_CHECKING:
    from streamworthy.criteria.spec import Limit
    from streamworthy.facts.conditions import GovernorFacts
    from streamworthy.facts.cpu import CpuFacts
    from streamworthy.facts.plan import EnginePlan

_POINTER_BITS = 64
_QUOTA_FIX = "run inside the container with its own /sys/fs/cgroup mounted, or judge the host itself"
_RAISE_QUOTA = (
    "raise the quota: docker run --cpus=N, resources.limits.cpu of the pod, systemctl set-property UNIT CPUQuota=N00%"
)


@bounds(one_of=required(WORDS))
def architecture(cpu: CpuFacts, limit: Limit) -> Verdict:
    """Judge the architecture of the processor and of this process: a 32-bit one cannot map a large model."""
    wanted = limit.values["one_of"]
    narrow = cpu.pointer_bits is not None and cpu.pointer_bits < _POINTER_BITS
    cause, fix = "", ("choose a tier for this architecture with --tier, or another machine",)
    if cpu.architecture not in wanted:
        cause = f"the processor is {cpu.architecture}, for which this tier has no limits"
    elif narrow:
        cause = f"Python is a {cpu.pointer_bits}-bit program, whose address space cannot hold the model"
        fix = ("install a 64-bit system and Python: getconf LONG_BIT must print 64",)
    return verdict(
        Word.FAIL if cause else Word.PASS,
        measured=f"{cpu.architecture}, {cpu.pointer_bits}-bit program" if narrow else cpu.architecture,
        required=f"one of {WORDS.format(wanted)}",
        cause=cause,
        fix=fix if cause else (),
        evidence=(f"model_name={cpu.model_name or 'not told'}",),
    )


@bounds(at_least=required(COUNT))
def physical_cores(cpu: CpuFacts, plan: EnginePlan, limit: Limit) -> Verdict:
    """Judge the cores that can run at once: physical ones, within affinity and CPU quota.

    An engine that is told to start more threads than can run fails too: they wait for each other at every step.
    """
    cores = cpu.usable_cores_count
    if cores is None:
        topology = cpu.physical_cores_count is None
        return unknown(
            f"physical cores are not known: {cpu.cores_unknown}",
            "mount /sys, then: lscpu -e=CPU,CORE,SOCKET" if topology else _QUOTA_FIX,
        )
    cause, fix = _why_few(cpu)
    found = within(cores, limit, COUNT, cause=cause, fix=fix, evidence=_core_evidence(cpu))
    most = cpu.runnable_threads_count
    if found.word is not Word.PASS or plan.threads is None or plan.threads <= most:
        return found
    return replace(
        found,
        word=Word.FAIL,
        required=f"{found.required}, and {plan.threads} threads at once",
        cause=f"the tier's engine starts {plan.threads} threads, of which {most} may run at once ({_why_bound(cpu)}): "
        "the others wait, and all wait for them",
        fix=(f"in [engine] of the tier: threads = {min(most, cores)}", *_unbind_fix(cpu)),
    )


def _why_bound(cpu: CpuFacts) -> str:
    if cpu.quota_cores is not None and cpu.quota_cores < (cpu.allowed_count or cpu.online_count):
        return f"CPU quota of {cpu.quota_cores:.2f}"
    if cpu.allowed_count is not None and cpu.allowed_count < cpu.online_count:
        return f"affinity to {cpu.allowed_count} of {cpu.online_count} logical CPUs"
    return f"the machine has {cpu.online_count} logical CPUs"


def _unbind_fix(cpu: CpuFacts) -> tuple[str, ...]:
    if cpu.quota_cores is not None and cpu.quota_cores < (cpu.allowed_count or cpu.online_count):
        return (f"or {_RAISE_QUOTA}",)
    if cpu.allowed_count is not None and cpu.allowed_count < cpu.online_count:
        return ("or start without taskset or --cpuset-cpus",)
    return ()


def _why_few(cpu: CpuFacts) -> tuple[str, tuple[str, ...]]:
    quota = cpu.quota_cores
    if quota is not None and cpu.usable_cores_count != cpu.physical_cores_count:
        cause = f"a control group's CPU quota allows {quota:.2f} of {cpu.physical_cores_count} cores"
        return cause, (_RAISE_QUOTA,)
    if cpu.allowed_count is not None and cpu.allowed_count < cpu.online_count:
        cause = f"affinity or a cpuset allows {cpu.allowed_count} of {cpu.online_count} logical CPUs"
        return cause, ("taskset -pc $$", "start without taskset or --cpuset-cpus")
    if cpu.hypervisor:
        return "the hypervisor gives this guest few cores", ("give the virtual machine more cores, one thread each",)
    return "the processor has few cores; hardware threads of one core share its arithmetic units", ()


def _core_evidence(cpu: CpuFacts) -> tuple[str, ...]:
    allowed = "no affinity" if cpu.allowed_count is None else str(cpu.allowed_count)
    return (
        f"physical_cores_in_affinity={cpu.physical_cores_count}",
        f"performance_cores={'all alike' if cpu.performance_cores_count is None else cpu.performance_cores_count}",
        f"logical_cpus_allowed={allowed}",
        f"logical_cpus_online={cpu.online_count}",
        f"cpu_quota={'none' if cpu.quota_cores is None else f'{cpu.quota_cores:.2f}'}",
    )


@bounds(x86_64=required(WORDS), aarch64=required(WORDS))
def instruction_set(cpu: CpuFacts, limit: Limit) -> Verdict:
    """Judge the instruction sets that every core within affinity has, by their names in /proc/cpuinfo."""
    if cpu.architecture not in limit.values:
        return unknown(f"no instruction sets are asked of {cpu.architecture}", "choose a tier for this architecture")
    if cpu.flags is None:
        return unknown("this kernel tells no instruction sets in /proc/cpuinfo", "judge this machine under Linux")
    wanted = limit.values[cpu.architecture]
    missing = tuple(word for word in wanted if word not in cpu.flags)
    return verdict(
        Word.FAIL if missing else Word.PASS,
        measured=f"without {WORDS.format(missing)}" if missing else WORDS.format(wanted) or "nothing asked",
        required=f"all of {WORDS.format(wanted)}" if wanted else "nothing",
        cause=_why_missing(cpu, missing) if missing else "",
        fix=_missing_fix(cpu, missing) if missing else (),
        evidence=(f"model_name={cpu.model_name or 'not told'}",),
    )


def _why_missing(cpu: CpuFacts, missing: tuple[str, ...]) -> str:
    words = WORDS.format(missing)
    if set(missing) <= set(cpu.partial_flags):
        return f"some of the CPUs that this process may use have no {words}, and a thread may run on any of them"
    if cpu.hypervisor:
        return f"the guest sees no {words}: the host's processor lacks it, or the hypervisor hides it"
    return f"the processor has no {words}"


def _missing_fix(cpu: CpuFacts, missing: tuple[str, ...]) -> tuple[str, ...]:
    if set(missing) <= set(cpu.partial_flags):
        return (
            f"grep -oE '^processor.*|{missing[0]}' /proc/cpuinfo    # the CPUs that have it",
            "taskset -c LIST COMMAND    # those alone",
        )
    if cpu.hypervisor:
        return (
            "on the host: grep -c avx2 /proc/cpuinfo",
            "pass the processor through: qemu -cpu host, libvirt host-passthrough",
        )
    return (
        "choose a machine with these instruction sets",
        "or build the engine on this machine: it runs without them, several times slower; then --tier ./mine.toml",
    )


@bounds(accept=required(WORDS))
def governor(facts: GovernorFacts, limit: Limit) -> Verdict:
    """Judge what chooses the clock; a processor that chooses itself is balanced under ``powersave`` too."""
    return judge_clock(facts, limit)
