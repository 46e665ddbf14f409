"""Whether a control group holds reads of the model's disks back. Pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from streamworthy.criteria.group_limits import free_reads
from streamworthy.criteria.spec import format_required, within
from streamworthy.units import BYTES_PER_SECOND, format_rate
from streamworthy.verdict import Verdict, Word, not_applicable, unknown, verdict

if TYPE_CHECKING:
    from streamworthy.criteria.spec import Limit
    from streamworthy.facts.storage import ReadLimit, ReadLimitFacts

_REQUEST_BYTES = 128 * 2**10  # the kernel's default read-ahead, and the largest request of many drives


def judge_read_limits(facts: ReadLimitFacts, limit: Limit, *, otherwise: str) -> Verdict:
    """Judge the least of what is let through; ``otherwise`` is what to do where disks are not known."""
    if facts.unknown:
        return unknown(f"the disks are not known, nor limits on them: {facts.unknown}", otherwise)
    if not facts.devices:
        return not_applicable("no block device of the model is known, so none can be limited")
    least = min(facts.limits, key=_let_through, default=None)
    if least is None:
        return verdict(Word.PASS, measured="no limit", required=format_required(BYTES_PER_SECOND, limit))
    several = f", on each of {least.drives_count} drives" if least.drives_count > 1 else ""
    return within(
        _let_through(least),
        limit,
        BYTES_PER_SECOND,
        cause=f"control group {least.group} lets {_describe(least)} be read from {least.device}{several}, and no more",
        fix=free_reads(least),
        evidence=tuple(f"{each.file}={each.major_minor} {_describe(each)}" for each in facts.limits),
    )


def _let_through(limit: ReadLimit) -> float:
    """Give bytes a second of the whole volume; where reads are counted, each is taken to be as large as a fault's."""
    by_count = math.inf if limit.reads_per_second is None else limit.reads_per_second * _REQUEST_BYTES
    by_size = math.inf if limit.bytes_per_second is None else limit.bytes_per_second
    return float(min(by_count, by_size) * limit.drives_count)


def _describe(limit: ReadLimit) -> str:
    rate = [] if limit.bytes_per_second is None else [format_rate(limit.bytes_per_second)]
    count = [] if limit.reads_per_second is None else [f"{limit.reads_per_second} reads a second"]
    return " and ".join(rate + count)
