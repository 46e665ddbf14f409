"""Questions about how the weights come into the engine."""

from __future__ import annotations

from streamworthy.criteria import load


def test_mmap(require, performance, record, limit):
    """A load reads the whole model once, so it shows what the disk delivers through the page cache."""
    require(load.mmap(record(performance.load), limit))


def test_mapped_share(require, performance, limit):
    """Weights copied to anonymous memory cannot be dropped and read again: beyond memory the engine is killed."""
    require(load.mapped_share(performance.mapping, limit))
