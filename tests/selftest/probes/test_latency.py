"""Random-read latency: measured, captured, not needed, and not measurable."""

from __future__ import annotations

import os
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from streamworthy.errors import ProbeError
from streamworthy.facts.storage import LatencyFacts, RandomReads, VolumeLatency
from streamworthy.probes.latency import measure_random_reads, probe_random_read_latency
from streamworthy.probes.sysroot import Sysroot
from streamworthy.probes.volumes import probe_captured_model, probe_volumes
from tests.selftest.probes.trees import machine

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux: RUSAGE_THREAD and O_DIRECT")


def captured(name):
    """Give a captured machine and its volumes."""
    root = machine(name)
    placements, folder, total = probe_captured_model(root)
    return root, probe_volumes(root, placements, folder=folder, set_total_bytes=total)


def test_a_captured_measurement_is_read_back():
    """The summary is kept, the single reads are not."""
    assert probe_random_read_latency(*captured("vm-virtio")) == LatencyFacts(
        volumes=(
            VolumeLatency(
                mount_point="/",
                reads=RandomReads(
                    method="O_DIRECT, 4 KiB reads at random offsets of the shards, one at a time",
                    latencies_seconds=(),
                    read_count=192,
                    median_seconds=0.0000522,
                    p99_seconds=0.0001344,
                ),
                reason="",
            ),
        )
    )


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("laptop-nvme", "not needed: the disks' own flags are evidence"),
        ("wsl2-drvfs", "no disk of this machine lies below it"),
    ],
)
def test_what_needs_no_measurement_says_so(name, reason):
    """Nothing is read where the answer is known or there is no disk."""
    (found,) = probe_random_read_latency(*captured(name)).volumes
    assert (found.reads, found.reason) == (None, reason)


def test_a_captured_machine_without_a_measurement_says_so():
    """The same machine, with its answer taken away."""
    root, facts = captured("vm-virtio")
    root.answers = {key: value for key, value in root.answers.items() if key != "latency"}
    (found,) = probe_random_read_latency(root, facts).volumes
    assert found == VolumeLatency(
        mount_point="/",
        reads=None,
        reason="not measured when this machine was captured: machine.toml has no [[latency]] for it",
    )


@linux
def test_this_machine_is_measured_or_says_why_not(tmp_path):
    """On a disk: at least 16 reads, each timed. On memory: never a number."""
    path = tmp_path / "shard.gguf"
    path.write_bytes(os.urandom(2**20))
    os.sync()
    try:
        found = measure_random_reads([str(path)])
    except ProbeError as error:
        assert "random reads reached a device" in error.message  # noqa: PT017 - either outcome is sound
        return
    assert 16 <= found.read_count <= 192
    assert len(found.latencies_seconds) == found.read_count
    assert 0 < min(found.latencies_seconds) <= found.median_seconds <= found.p99_seconds <= max(found.latencies_seconds)


@linux
def test_memory_is_never_taken_for_a_disk():
    """Tmpfs takes O_DIRECT on new kernels; that no block was read gives it away."""
    shared = Path("/dev/shm")  # noqa: S108 - a tmpfs on any Linux
    if not os.access(shared, os.W_OK):
        pytest.skip("needs a writable /dev/shm")
    path = shared / f"streamworthy-{os.getpid()}.gguf"
    path.write_bytes(bytes(2**20))
    try:
        with pytest.raises(ProbeError, match="only 0 random reads reached a device, at least 16 needed"):
            measure_random_reads([str(path)])
    finally:
        path.unlink()


@linux
def test_shards_too_small_to_read_are_said_to_be(tmp_path):
    """A file below 4 KiB has no aligned block."""
    path = tmp_path / "stub.gguf"
    path.write_bytes(bytes(4095))
    with pytest.raises(ProbeError, match="no shard of at least 4 KiB"):
        measure_random_reads([str(path)])


@linux
def test_an_absent_shard_is_named(tmp_path):
    """The message names the file."""
    with pytest.raises(ProbeError, match=r"gone.gguf: cannot be read: No such file"):
        measure_random_reads([str(tmp_path / "gone.gguf")])


@linux
def test_a_disk_that_hangs_does_not_hang_the_run():
    """The reads are given up at the deadline."""
    release = threading.Event()

    class Stuck(tuple):
        __slots__ = ()

        def __iter__(self):
            release.wait(30)
            return super().__iter__()

    try:
        with pytest.raises(ProbeError, match=r"dead\.gguf: a 4 KiB read did not return within 0 s: the disk hangs"):
            measure_random_reads(Stuck(["dead.gguf"]), deadline_seconds=0.05)
    finally:
        release.set()


@linux
def test_a_volume_without_shards_cannot_be_measured():
    """Before the download there is nothing to read, which is said instead of measured."""
    _, facts = captured("vm-virtio")
    (volume,) = facts.volumes
    empty = replace(facts, volumes=(replace(volume, shards=()),))
    (found,) = probe_random_read_latency(Sysroot(), empty).volumes
    assert (found.reads, "no shard lies there yet" in found.reason) == (None, True)


def test_why_it_was_not_measured_is_kept_by_a_capture():
    """The reason of then is told, not that there is none."""
    root, facts = captured("vm-virtio")
    root.answers = {**root.answers, "latency": [{"mount": "/", "reason": "the shards are in the page cache"}]}
    assert probe_random_read_latency(root, facts).volumes == (
        VolumeLatency(mount_point="/", reads=None, reason="the shards are in the page cache"),
    )
