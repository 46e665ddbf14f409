"""What a hold is for: dense pages that stay while experts stream through memory that is too small."""

from __future__ import annotations

import sys

import pytest

from streamworthy.bench.evict import evict
from tests.selftest.bench.disk_file import make_disk_file
from tests.selftest.truth.groups import NEEDS_GROUPS, memory_group, run_in_group

pytestmark = NEEDS_GROUPS
MIB = 2**20
STREAM = """
import sys
from contextlib import nullcontext
from pathlib import Path
from streamworthy.bench.hold import hold
from streamworthy.bench.residency_map import residency_of
from streamworthy.bench.warm_up import warm_up
from streamworthy.facts.tensor_kinds import TensorKind, TensorPlace
from streamworthy.probes.sysroot import Sysroot
path, held = Path(sys.argv[1]), sys.argv[2] == "held"
dense = [TensorPlace(path=path, offset_bytes=0, size_bytes=16 << 20, kind=TensorKind.DENSE, layer=0)]
warm_up(dense, 2**40)
with hold(Sysroot(), dense, available_bytes=2**40) if held else nullcontext():
    for _ in range(4):
        with path.open("rb", buffering=0) as file:
            file.seek(16 << 20)
            while file.read(1 << 20):
                pass
    print(residency_of(dense).share)
"""


@pytest.mark.parametrize(("held", "least", "most"), [("held", 1.0, 1.0), ("not held", 0.0, 0.5)])
def test_held_pages_stay_while_experts_stream_through_little_memory(tmp_path, held, least, most):
    """112 MiB of experts pass four times through 64 MiB of memory: what is not held makes room for them."""
    path = make_disk_file(tmp_path, size=128 * MIB)
    evict([path])  # what another group has read is free for this one
    with memory_group(64 * MIB) as group:
        share = float(run_in_group(group, [sys.executable, "-c", STREAM, path, held]))
    assert least <= share <= most
