"""Questions about the kernel."""

from __future__ import annotations

from streamworthy.bench.preconditions import look_at_pressure
from streamworthy.criteria import kernel


def test_version(require, machine, limit):
    """Older kernels read mapped files in ways that the limits here were not set for, and hide what they did."""
    require(kernel.version(machine.kernel, limit))


def test_pressure(require, settled, limit):
    """Numbers taken beside other work are not this machine's: they are open, whoever it is."""
    require(kernel.pressure(settled(look_at_pressure, kernel.pressure), limit))
