"""Questions about what the disks below the model deliver."""

from __future__ import annotations

from streamworthy.criteria import disk


def test_sequential_read(require, bench, record, limit):
    """A load reads the whole model in order, so this rate bounds the wait before the first word."""
    require(disk.sequential_read(record(bench.disk.sequential), limit))


def test_random_read(require, bench, record, limit):
    """A page fault waits for one small read, and each expert that is not in memory begins with some."""
    require(disk.random_read(record(bench.disk.latency), limit))


def test_slab_read(require, bench, record, limit):
    """Experts are read as slabs of one size at random places: no engine streams them faster than this."""
    require(disk.slab_read(record(bench.disk.slabs), limit))


def test_read_amplification(require, bench, machine, record, limit):
    """Read-ahead fetches neighbours of an expert that nobody asked for, and the disk's time goes into them."""
    require(disk.read_amplification(record(bench.disk.slabs), machine.read_ahead, limit))


def test_sustained(require, bench, record, limit):
    """A drive that gets hot slows itself down, and a long answer then takes longer than a short test promised."""
    require(disk.sustained(record(bench.disk.sustained), limit))
