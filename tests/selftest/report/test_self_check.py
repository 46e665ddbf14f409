"""The decision rule on a run's own samples."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from streamworthy.report.self_check import self_check_lines
from tests.selftest.criteria.asked import limit
from tests.selftest.engine.records import make_series

LIMITS = {
    "load.mmap": limit("load.mmap"),
    "first_token.warm": limit("first_token.warm", at_most=2.0),
    "prefill.rate": replace(limit("prefill.rate", at_least=4.0), level="not_applicable"),
    "memory.swap_in_use": limit("memory.swap_in_use"),
}


@dataclass
class Taken:
    """A run whose episodes are all there."""

    def series(self, metric):
        """Give the same times for each gate."""
        return make_series(1.0, 1.5, 2.0, 2.5, 3.0, metric=metric.gate)


def test_each_statistical_gate_with_a_bound_gets_a_line():
    """Gates without one, that the tier does not ask, or that ask no episodes get none; a second run says the same."""
    lines = list(self_check_lines(LIMITS, Taken(), LIMITS))

    assert len(lines) == 1
    assert re.match(r"self-check first_token.warm: 1000 replays at the median: \d\.\d % falsely FAIL, ", lines[0])
    assert list(self_check_lines(LIMITS, Taken(), LIMITS)) == lines
