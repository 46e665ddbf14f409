"""Every performance gate on a model larger than memory: a memory cgroup is the machine's RAM.

The disk is a loop device with a narrow read-ahead: at 8 MiB, which ``make truth`` has, this takes a quarter of an hour.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.selftest.truth.groups import NEEDS_GROUPS, memory_group, run_in_group
from tests.selftest.truth.run import lacks
from tests.selftest.truth.volume import sample_volume

_SAMPLE_BYTES = 1_600_000_000
_RUN_POOL = Path(__file__).with_name("run_pool.py")

pytestmark = [*NEEDS_GROUPS, pytest.mark.slow, pytest.mark.skipif(bool(lacks()), reason=lacks() or "nothing lacks")]


@pytest.fixture(scope="module")
def volume(tmp_path_factory):
    """Make a disk with a sample of 1.6 GB, removed afterwards."""
    pytest.importorskip("llama_cpp", reason="the engine is not installed")
    with sample_volume(tmp_path_factory.mktemp("large"), _SAMPLE_BYTES, 1) as made:
        yield made


@pytest.mark.parametrize("divisor", [2, 8])
def test_every_gate_is_judged_when_memory_is_a_part_of_the_weights(volume, tmp_path, divisor):
    """With memory for 1/2 and for 1/8 of the weights, all gates get a verdict and decode reads from the device."""
    limit_bytes = volume.weights_bytes // divisor
    volume.evict()

    with memory_group(limit_bytes) as folder:
        command = [sys.executable, _RUN_POOL, f"--available={limit_bytes}", f"--scratch={tmp_path}", *volume.shards]
        found = json.loads(run_in_group(folder, command))

    print(json.dumps(found, indent=1))  # noqa: T201 - the numbers, for who runs this with -s
    assert not folder.exists()
    assert {gate: verdict["word"] for gate, verdict in found["gates"].items()} == dict.fromkeys(found["gates"], "pass")
    assert min(found["device_bytes_per_token"]["cold"]) > 0
    assert min(found["device_bytes_per_token"]["warm"]) > 0
    assert len(found["device_bytes_per_token"]["warm"]) == 5
