"""Questions about the kernel."""

from __future__ import annotations

from streamworthy.criteria import kernel


def test_version(require, machine, limit):
    """Older kernels read mapped files in ways that the limits here were not set for, and hide what they did."""
    require(kernel.version(machine.kernel, limit))
