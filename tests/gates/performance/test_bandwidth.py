"""Questions about how fast memory is read."""

from __future__ import annotations

from streamworthy.criteria import bandwidth


def test_read(require, bench, record, limit):
    """Each token reads every dense weight from memory once: no engine decodes faster than that takes."""
    require(bandwidth.read(record(bench.bandwidth), limit))
