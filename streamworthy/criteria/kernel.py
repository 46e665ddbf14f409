"""Whether the kernel has what streaming and measuring need."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from streamworthy.criteria.quiet import judge_pressure
from streamworthy.criteria.spec import bounds, format_required, required
from streamworthy.units import SHARE, VERSION
from streamworthy.verdict import Verdict, Word
from streamworthy.verdict import verdict as make_verdict

if TYPE_CHECKING:
    from streamworthy.criteria.spec import Limit
    from streamworthy.facts.conditions import PressureFacts
    from streamworthy.facts.kernel import KernelFacts


@bounds(at_least=required(VERSION))
def version(kernel: KernelFacts, limit: Limit) -> Verdict:
    """Judge the kernel's version by its numbers; 6.1 is 6.1.0."""
    old = _is_below(kernel.version, limit.values["at_least"])
    wanted = VERSION.format(limit.values["at_least"])
    return make_verdict(
        Word.FAIL if old else Word.PASS,
        measured=kernel.release,
        required=format_required(VERSION, limit),
        unit=VERSION.unit,
        cause=f"the kernel is older than {wanted}" if old else "",
        fix=_newer_kernel(kernel) if old else (),
        evidence=(f"version={VERSION.format(kernel.version)}",),
    )


def _is_below(found: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    pairs = list(zip_longest(found, wanted, fillvalue=0))
    return [mine for mine, _ in pairs] < [theirs for _, theirs in pairs]


def _newer_kernel(kernel: KernelFacts) -> tuple[str, ...]:
    if "microsoft" in kernel.release.lower():
        return ("in Windows: wsl --update", "in Windows: wsl --shutdown")
    return ("install the distribution's newest kernel and restart: apt full-upgrade, dnf upgrade kernel",)


@bounds(cpu_at_most=required(SHARE), memory_at_most=required(SHARE), io_at_most=required(SHARE))
def pressure(facts: PressureFacts, limit: Limit) -> Verdict:
    """Judge how much of the last ten seconds something waited; more leaves numbers open, it does not fail."""
    return judge_pressure(facts, limit)
