"""Counting what a router picked."""

import subprocess
import sys

import pytest

from streamworthy.sample.trace import RoutingTrace, top_share, unused_experts

TRACE = RoutingTrace(
    n_expert=10,
    picks=(
        ((0, 1), (0, 2), (0, 3), (0, 4)),
        ((9, 8), (9, 7), (8, 7), (6, 5)),
    ),
)


def test_counts():
    """Each layer has a count for each expert."""
    assert TRACE.counts == ((4, 1, 1, 1, 1, 0, 0, 0, 0, 0), (0, 0, 0, 0, 0, 1, 1, 2, 2, 2))


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.1, 6 / 16), (0.01, 6 / 16), (0.2, 9 / 16), (1.0, 1.0)],
)
def test_top_share(share, expected):
    """The most picked experts are chosen layer by layer; a share below one expert means one."""
    assert top_share(TRACE, share) == expected


def test_unused_experts():
    """Unused experts are named by layer and number."""
    assert unused_experts(TRACE) == (*((0, expert) for expert in range(5, 10)), *((1, expert) for expert in range(5)))


def test_import_does_not_load_the_engine():
    """Importing the module loads neither the engine nor numpy."""
    script = (
        "import sys, streamworthy.sample.trace, streamworthy.sample.make;"
        "print('numpy' in sys.modules, 'llama_cpp' in sys.modules, 'gguf' in sys.modules)"
    )
    child = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert child.stdout.split() == ["False", "False", "False"]
