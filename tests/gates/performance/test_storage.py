"""Questions about the settings of the disks that hold the model, asked beside their measured cost."""

from __future__ import annotations

from streamworthy.criteria import storage


def test_read_ahead(require, bench, machine, limit):
    """A read-ahead made for long files fetches many times an expert's size with each one that is wanted."""
    require(storage.read_ahead(machine.read_ahead, bench.disk.slabs, limit))
