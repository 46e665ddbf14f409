"""The machine around an episode."""

from __future__ import annotations

import time

import pytest

from streamworthy.engine.conditions import Snapshot, conditions_since, device_temperature, take_snapshot
from streamworthy.facts.episode import Conditions, Disturbers
from streamworthy.probes.sysroot import Sysroot


@pytest.fixture
def machine(tmp_path):
    """Make a captured machine with PSI, one NVMe drive with two sensors, and one process."""
    files = {
        "machine.toml": 'source = "made by a test"\n',
        "proc/pressure/io": "some avg10=0.00 total=9000000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\n",
        "proc/pressure/memory": "some avg10=0.00 total=1\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=500000\n",
        "proc/diskstats": " 259 0 nvme0n1 10 0 4000 5 0 0 0 0 0 5 5\n",
        "proc/42/io": "rchar: 1\nread_bytes: 1024000\n",
        "sys/block/nvme0n1/device/hwmon3/temp1_input": "41850\n",
        "sys/block/nvme0n1/device/hwmon4/temp1_input": "39000\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return Sysroot(tmp_path)


def test_shares_are_differences_over_time(machine):
    """Two seconds stalled in four are a half."""
    before = Snapshot(
        moment_seconds=time.monotonic() - 4.0,
        io_full_seconds=0.5,
        memory_full_seconds=0.5,
        device_bytes=1000 * 512,
        engine_bytes=0,
        cpu=None,
    )

    others = Disturbers(mapping=("cp (pid 9)",), reading=(), hidden="3 processes")

    found = conditions_since(before, machine, ["nvme0n1"], pid=42, others=others, threads=2)

    assert found.io_full_share == pytest.approx(0.5, rel=0.05)
    assert found == Conditions(
        io_full_share=found.io_full_share,
        memory_full_share=0.0,
        temperature_celsius=41.85,
        device_bytes=3000 * 512,
        engine_bytes=1_024_000,
        disturbers=("cp (pid 9)",),
        hidden="3 processes",
        cpu=None,
    )


def test_what_a_kernel_does_not_tell_is_none(tmp_path):
    """Without PSI, sensors and named devices nothing is invented."""
    (tmp_path / "machine.toml").write_text('source = "made by a test"\n')
    root = Sysroot(tmp_path)

    found = take_snapshot(root, [])

    assert (found.io_full_seconds, found.memory_full_seconds, found.device_bytes, found.engine_bytes) == (
        None,
        None,
        None,
        0,
    )
    assert device_temperature(root, ["nvme0n1"]) is None
