"""A thread beside what is timed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from streamworthy.bench.evict import evict
from streamworthy.bench.sampler import Sampler
from streamworthy.probes.sysroot import Sysroot
from tests.selftest.bench.test_sources import FILES
from tests.selftest.probes.trees import tree

# reads a file through its map, touches memory, and computes for as many seconds of CPU time as it is told
CHILD = """
import mmap, sys, time
with open(sys.argv[1], 'rb') as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as area:
    print('ready', flush=True)
    sys.stdin.readline()
    total = sum(area[place] for place in range(0, len(area), 4096))
    while time.process_time() < float(sys.argv[2]):
        total += 1
    print('done', flush=True)
    sys.stdin.readline()
"""
MIB = 2**20
live = pytest.mark.skipif(sys.platform != "linux", reason="asks this kernel; only Linux has /proc")


def samplers():
    """Count the threads of samplers."""
    return [thread.name for thread in threading.enumerate()].count("sampler")


def open_files():
    """Count the open files of this process."""
    return len(list(Path("/dev/fd").iterdir()))


def test_ticks_are_taken_until_the_end(tmp_path):
    """Both ends and what was seen in between; the clock is that of the ticks."""
    with Sampler(tree(tmp_path, files=FILES), ["nvme0n1"], threads=1, tick_seconds=0.001) as sampler:
        sampler.watch(42)
        first = sampler.mark()
        time.sleep(0.1)
        found = sampler.between(first, sampler.mark(last=True))
        assert samplers() == 1
    assert samplers() == 0
    assert found.ticks_count > 3
    assert (found.clock_share, found.device_celsius, found.engine_bytes) == (0.75, 41.85, 0)
    assert found.cpu.allowed_cores == 2.0


def test_ticks_of_another_stretch_do_not_count(tmp_path):
    """Only those between the two moments; a stretch of no length has its ends."""
    with Sampler(tree(tmp_path, files=FILES), [], threads=1, tick_seconds=0.001) as sampler:
        time.sleep(0.02)
        first = sampler.mark()
        assert sampler.between(first, first).ticks_count == 2


def test_the_end_may_be_asked_for_twice_and_leaves_no_file(tmp_path):
    """Also when something was raised inside."""
    before = open_files()
    sampler = Sampler(tree(tmp_path, files=FILES), ["nvme0n1"], threads=1)
    with pytest.raises(KeyboardInterrupt), sampler:
        raise KeyboardInterrupt
    sampler.close()
    assert (samplers(), open_files()) == (0, before)
    assert sampler.mark().disks is None


@live
def test_what_a_process_reads_faults_and_computes_is_counted(tmp_path):
    """On this machine: a file of 32 MiB through page faults, and half a second of computing."""
    file = tmp_path / "weights"
    file.write_bytes(os.urandom(32 * MIB))
    with file.open("rb") as handle:
        os.fsync(handle.fileno())
    cold = not evict([file]).kept
    command = [sys.executable, "-c", CHILD, str(file), "0.5"]
    with (
        Sampler(Sysroot(), [], threads=1) as sampler,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child,
    ):
        sampler.watch(child.pid)
        child.stdout.readline()
        first = sampler.mark()
        child.stdin.write(b"\n")
        child.stdin.flush()
        child.stdout.readline()
        found = sampler.between(first, sampler.mark(last=True))
        child.stdin.close()

    assert found.engine_cores * found.seconds == pytest.approx(0.5, abs=0.15)
    assert found.anonymous_bytes > MIB
    assert found.ticks_count >= 3
    assert found.cpu.allowed_cores > 0
    if cold and found.engine_bytes:  # 0 where the file system's reads are nobody's, as on FUSE and overlayfs
        assert 30 * MIB <= found.engine_bytes <= 40 * MIB
        assert 1 <= found.major_faults <= 32 * MIB // 4096
        assert found.refaulted_bytes is None or found.refaulted_bytes >= 0


@live
def test_a_process_that_ended_is_unknown(tmp_path):
    """Its files stay open and tell nothing, also where its number is given anew."""
    with Sampler(Sysroot(), [], threads=1) as sampler:
        with subprocess.Popen(["sleep", "10"]) as child:
            sampler.watch(child.pid)
            first = sampler.mark()
            child.kill()
        found = sampler.between(first, sampler.mark(last=True))
    assert (found.engine_bytes, found.engine_cores, found.major_faults) == (None, None, None)
