"""Every performance gate on a model larger than memory: a memory cgroup is the machine's RAM."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from streamworthy.bench.evict import evict
from streamworthy.sample.make import ensure_sample
from streamworthy.sample.spec import spec_for_size
from streamworthy.sample.stored import set_paths

_SAMPLE_BYTES = 1_600_000_000
_CGROUPS = Path("/sys/fs/cgroup/memory")
_RUN_POOL = Path(__file__).with_name("run_pool.py")
_REPOSITORY = Path(__file__).parents[3]
_LARGE_WINDOW_KIB = 4096  # from here on, reading around each fault wastes so much that decode falls below 2 tok/s

pytestmark = [
    pytest.mark.root,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="making a memory cgroup needs root"),
    pytest.mark.skipif(not (_CGROUPS / "cgroup.procs").exists(), reason="needs the version 1 memory hierarchy"),
]


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """A sample of 1.6 GB, removed afterwards."""
    pytest.importorskip("llama_cpp", reason="the engine is not installed")
    folder, spec = tmp_path_factory.mktemp("large"), spec_for_size(_SAMPLE_BYTES)
    ensure_sample(folder, spec)
    paths = [path for path in set_paths(folder, spec) if path.suffix == ".gguf"]
    yield paths
    for path in folder.iterdir():
        path.unlink()


@pytest.fixture
def cgroup():
    """A memory cgroup, removed afterwards whatever happened in it."""
    folder = _CGROUPS / f"streamworthy-test-{os.getpid()}"
    folder.mkdir()
    yield folder
    for _ in range(100):  # pages of ended processes are given back a moment later
        with suppress(OSError):
            folder.rmdir()
            break
        time.sleep(0.1)
    assert not folder.exists()


def _run_in(cgroup, limit_bytes, shards, scratch):
    (cgroup / "memory.limit_in_bytes").write_text(str(limit_bytes))
    command = [sys.executable, str(_RUN_POOL), f"--available={limit_bytes}", f"--scratch={scratch}", *map(str, shards)]
    found = subprocess.run(
        ["sh", "-c", 'echo $$ > "$0"; exec "$@"', str(cgroup / "cgroup.procs"), *command],
        env=os.environ | {"PYTHONPATH": str(_REPOSITORY)},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return json.loads(found.stdout)


@pytest.mark.parametrize("divisor", [2, 8])
def test_every_gate_is_judged_when_memory_is_a_part_of_the_weights(cgroup, shards, tmp_path, divisor):
    """With memory for 1/2 and for 1/8 of the weights, all gates get a verdict and decode reads from the device."""
    size = sum(path.stat().st_size for path in shards)
    assert evict(shards).kept == ""

    found = _run_in(cgroup, size // divisor, shards, tmp_path)

    print(json.dumps(found, indent=1))  # noqa: T201 - the numbers, for who runs this with -s
    assert {gate: verdict["word"] for gate, verdict in found["gates"].items()} == dict.fromkeys(found["gates"], "pass")
    assert min(found["device_bytes_per_token"]["cold"]) > 0
    assert min(found["device_bytes_per_token"]["warm"]) > 0
    assert len(found["device_bytes_per_token"]["warm"]) == 5
    if divisor == 8 and _read_ahead_kib(shards[0]) >= _LARGE_WINDOW_KIB:
        assert found["gates"]["decode.warm_rate"]["value"] < 2.0


def _read_ahead_kib(path):
    device = os.stat(path).st_dev
    name = f"/sys/dev/block/{os.major(device)}:{os.minor(device)}"
    for place in (f"{name}/queue/read_ahead_kb", f"{name}/../queue/read_ahead_kb"):
        with suppress(OSError):
            return int(Path(place).read_text(encoding="ascii"))
    return 0
