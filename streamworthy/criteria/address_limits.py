"""How much address space a process may map, against what the engine maps. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.units import BYTES, format_bytes
from streamworthy.verdict import Verdict, Word, unknown, verdict

if TYPE_CHECKING:
    from streamworthy.facts.memory import AddressSpaceFacts


def judge_address_space(facts: AddressSpaceFacts) -> Verdict:
    """Judge the soft limit; what the shards alone exceed fails, whatever the engine needs beside them."""
    known = [part for part in (facts.shards_bytes, facts.engine_bytes) if part is not None]
    need = sum(known)
    soft = facts.soft_bytes
    if soft is not None and soft >= need and len(known) < 2:  # noqa: PLR2004 - shards and engine
        why = facts.engine_unknown or "no shard tells the size of the set"
        return unknown(f"{format_bytes(soft)} of address space may be mapped, and what is needed is not known: {why}")
    enough = soft is None or soft >= need
    if enough and facts.commit_left_bytes is not None:
        return _judge_commit(facts, facts.commit_left_bytes)
    cause, fix = ("", ()) if enough else _why_too_little(facts, need)
    return verdict(
        Word.PASS if enough else Word.FAIL,
        measured=_shown(soft),
        required=f"at least {format_bytes(need)} to be mapped" if need else "",
        value=soft,
        unit=BYTES.unit,
        cause=cause,
        fix=fix,
        evidence=_evidence(facts),
    )


def _judge_commit(facts: AddressSpaceFacts, left_bytes: int) -> Verdict:
    """Judge what may still be promised where the kernel promises no more than there is: shards are not counted."""
    need = facts.engine_bytes
    left = f"{format_bytes(left_bytes)} of CommitLimit (vm.overcommit_memory is 2)"
    if need is None:
        return unknown(f"{left} are left, and what the engine needs is not known: {facts.engine_unknown}", _OVERCOMMIT)
    enough = need <= left_bytes
    return verdict(
        Word.PASS if enough else Word.FAIL,
        measured=f"{left} left",
        required=f"at least {format_bytes(need)} for the engine",
        value=left_bytes,
        unit=BYTES.unit,
        cause="" if enough else "vm.overcommit_memory is 2: the engine's own memory is refused, however much is free",
        fix=() if enough else (_OVERCOMMIT, "# or more of it: sudo sysctl vm.overcommit_ratio=90, or swap"),
        evidence=_evidence(facts),
    )


_OVERCOMMIT = "sudo sysctl vm.overcommit_memory=0  # and in /etc/sysctl.d: the kernel's default"


def _shown(value: int | None) -> str:
    return "unlimited" if value is None else format_bytes(value)


def _evidence(facts: AddressSpaceFacts) -> tuple[str, ...]:
    sizes = {"shards": facts.shards_bytes, "engine": facts.engine_bytes}
    parts = (f"{name}={format_bytes(size)}" for name, size in sizes.items() if size is not None)
    return (f"process={facts.process}", f"soft={_shown(facts.soft_bytes)}", f"hard={_shown(facts.hard_bytes)}", *parts)


def _why_too_little(facts: AddressSpaceFacts, need: int) -> tuple[str, tuple[str, ...]]:
    if facts.hard_bytes is None or facts.hard_bytes >= need:
        cause = (
            f"the soft limit of address space is lower than the hard one ({_shown(facts.hard_bytes)}), which is enough"
        )
        return cause, (f"ulimit -S -v {-(-need // 2**10)}", "then start the engine from the same shell")
    return "RLIMIT_AS is too low: mmap of a shard fails with ENOMEM, however much memory is free", (
        "shell: ulimit -v unlimited",
        "login shell: echo '* - as unlimited' | sudo tee /etc/security/limits.d/address-space.conf, then log in again",
        "service (limits.d is not read): LimitAS=infinity in the unit, then systemctl daemon-reload",
        "batch job: ask the scheduler for more virtual memory (Grid Engine h_vmem, Torque vmem)",
    )
