"""What others make of the model's disks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from streamworthy.bench.disk_activity import DiskCounters, parse_diskstats, watch_disks
from streamworthy.probes.sysroot import Sysroot
from tests.selftest.probes.trees import tree

LINE = " 259       0 nvme0n1 31567 3507 2777896 13528 15783 10522 978577 15783 0 7891 31567 0 0 0 0 631 789\n"
COUNTERS = DiskCounters(read_bytes=2777896 * 512, written_bytes=978577 * 512, busy_milliseconds=7891)


def test_a_line_gives_bytes_and_busy_time():
    """Old kernels write eleven numbers, newer ones up to seventeen."""
    assert parse_diskstats(LINE) == {"nvme0n1": COUNTERS}
    assert parse_diskstats(" ".join(LINE.split()[:14]) + "\n") == {"nvme0n1": COUNTERS}


@pytest.mark.parametrize("text", ["", "259 0 nvme0n1 1 2 3\n", "nonsense\n", LINE.replace("7891", "x")])
def test_other_lines_are_left_out(text):
    """What is not counted is found missing by who asks for it."""
    assert parse_diskstats(text) == {}


def test_a_captured_machine_cannot_be_watched(tmp_path):
    """One look is no activity."""
    found = watch_disks(tree(tmp_path, files={"proc/diskstats": LINE}), ["nvme0n1"])
    assert (found.disks, found.users) == ((), ())
    assert found.unseen == "a captured machine's disks cannot be watched"


@pytest.mark.skipif(sys.platform != "linux", reason="asks this kernel; only Linux has /proc/diskstats")
def test_unknown_disks_are_not_taken_for_quiet_ones():
    """None named, and one that is not there."""
    assert "no block device" in watch_disks(Sysroot(), [], window_seconds=0.01).unseen
    assert "does not count sdzz9" in watch_disks(Sysroot(), ["sdzz9"], window_seconds=0.01).unseen


@pytest.mark.skipif(sys.platform != "linux", reason="asks this kernel; only Linux has /proc/diskstats")
def test_who_writes_to_a_disk_is_named(tmp_path):
    """A process that writes and syncs, seen from beside it, on whatever disks this machine has."""
    names = list(parse_diskstats(Path("/proc/diskstats").read_text(encoding="utf-8")))
    if not names:
        pytest.skip("this machine shows no disks")
    code = (
        "import os, sys\n"
        "file = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)\n"
        "while True:\n"
        "    os.pwrite(file, os.urandom(1 << 20) * 8, 0)\n"
        "    os.fsync(file)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "scratch")]) as writer:
        found = watch_disks(Sysroot(), names, window_seconds=0.8)
        writer.kill()
    if all(disk.written_bytes_per_second == 0 for disk in found.disks):
        pytest.skip("what is written here reaches no disk that is counted")
    assert max(disk.busy_share for disk in found.disks) > 0
    assert any(f"(pid {writer.pid})" in user for user in found.users) or os.getuid() != 0
