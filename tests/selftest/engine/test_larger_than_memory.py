"""Every performance gate on a model larger than memory: a memory cgroup is the machine's RAM."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from streamworthy.bench.evict import evict
from streamworthy.sample.make import ensure_sample
from streamworthy.sample.spec import spec_for_size
from streamworthy.sample.stored import set_paths
from tests.selftest.truth.groups import NEEDS_GROUPS, memory_group, run_in_group

_SAMPLE_BYTES = 1_600_000_000
_RUN_POOL = Path(__file__).with_name("run_pool.py")
_LARGE_WINDOW_KIB = 4096  # from here on, reading around each fault wastes so much that decode falls below 2 tok/s

pytestmark = [*NEEDS_GROUPS, pytest.mark.slow]


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """Make a sample of 1.6 GB, removed afterwards."""
    pytest.importorskip("llama_cpp", reason="the engine is not installed")
    folder, spec = tmp_path_factory.mktemp("large"), spec_for_size(_SAMPLE_BYTES)
    ensure_sample(folder, spec)
    yield [path for path in set_paths(folder, spec) if path.suffix == ".gguf"]
    for path in folder.iterdir():
        path.unlink()


@pytest.mark.parametrize("divisor", [2, 8])
def test_every_gate_is_judged_when_memory_is_a_part_of_the_weights(shards, tmp_path, divisor):
    """With memory for 1/2 and for 1/8 of the weights, all gates get a verdict and decode reads from the device."""
    limit_bytes = sum(path.stat().st_size for path in shards) // divisor
    assert evict(shards).kept == ""

    with memory_group(limit_bytes) as folder:
        command = [sys.executable, _RUN_POOL, f"--available={limit_bytes}", f"--scratch={tmp_path}", *shards]
        found = json.loads(run_in_group(folder, command))

    print(json.dumps(found, indent=1))  # noqa: T201 - the numbers, for who runs this with -s
    assert not folder.exists()
    assert {gate: verdict["word"] for gate, verdict in found["gates"].items()} == dict.fromkeys(found["gates"], "pass")
    assert min(found["device_bytes_per_token"]["cold"]) > 0
    assert min(found["device_bytes_per_token"]["warm"]) > 0
    assert len(found["device_bytes_per_token"]["warm"]) == 5
    if divisor == 8 and _read_ahead_kib(shards[0]) >= _LARGE_WINDOW_KIB:
        assert found["gates"]["decode.warm_rate"]["value"] < 2.0


def _read_ahead_kib(path):
    device = path.stat().st_dev
    name = f"/sys/dev/block/{os.major(device)}:{os.minor(device)}"
    for place in (f"{name}/queue/read_ahead_kb", f"{name}/../queue/read_ahead_kb"):
        with suppress(OSError):
            return int(Path(place).read_text(encoding="ascii"))
    return 0
