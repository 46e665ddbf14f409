"""Who else computes, and how long the engine's threads wait."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from streamworthy.bench.cpu_load import (
    CpuSnapshot,
    ProcessTime,
    cpu_load_since,
    parse_cpu_line,
    parse_process_stat,
    take_cpu_snapshot,
)
from streamworthy.errors import ParseError
from streamworthy.facts.cpu_load import CpuLoad
from streamworthy.probes.sysroot import Sysroot
from tests.selftest.probes.trees import tree

TICKS = os.sysconf("SC_CLK_TCK")
STATUS = "CapEff:\t0\nCpus_allowed_list:\t0-1\n"


def line(pid, name, *, flags=4194304, faults=0, user=0, system=0):
    """Write a line of /proc/PID/stat."""
    return f"{pid} ({name}) R 1 {pid} {pid} 0 -1 {flags} 9 0 {faults} 0 {user} {system} 0 0 20 0 3 0 100 1000 10\n"


FILES = {
    "proc/stat": "cpu  1000 10 500 9000 70 1 2 40 0 0\ncpu0 1 2 3 4\n",
    "proc/42/stat": line(42, "python3", user=300, system=100),
    "proc/42/status": STATUS,
    "proc/42/task/42/schedstat": "900 3000000000 7\n",
    "proc/42/task/43/schedstat": "900 1000000000 7\n",
    "proc/7/stat": line(7, "cc1 (a) b", user=200),
    "proc/9/stat": line(9, "kswapd0", flags=0x00200040, system=400),
    "proc/self/cgroup": "0::/\n",
    "proc/self/mountinfo": "25 20 0:22 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n",
}


def test_the_first_line_gives_busy_and_stolen_ticks():
    """User, nice and system; idle and waiting for the disk are not computing."""
    assert parse_cpu_line(FILES["proc/stat"]) == (1510, 40)
    assert parse_cpu_line("cpu 1 2 3 4\n") == (6, 0)


@pytest.mark.parametrize(
    "text", ["", "cpu\n", "cpu a b c d\n", "cpu 1 2 3\n", f"cpu 1 2 3 {'9' * 5000}", "intr 1 2 3 4 5\n"]
)
def test_another_first_line_is_a_parse_error(text):
    """What was found is told."""
    with pytest.raises(ParseError, match="/proc/stat"):
        parse_cpu_line(text)


def test_a_process_may_have_any_name():
    """Blanks and brackets are the process's own choice."""
    assert parse_process_stat(line(7, "a) S 1 (b", faults=5, user=3, system=4)) == ProcessTime(
        name="a) S 1 (b", ticks=7, major_faults=5, kernel=False
    )
    assert parse_process_stat(line(2, "kthreadd", flags=0x00208040)).kernel


@pytest.mark.parametrize("text", ["", "7", "7 (a) R", "7 (a) R 1 2 3\n", "7 (a) R" + 12 * " -"])
def test_another_process_line_is_a_parse_error(text):
    """Short lines are no process."""
    with pytest.raises(ParseError):
        parse_process_stat(text)


def test_others_are_what_is_neither_ours_nor_the_kernels(tmp_path):
    """Whole record: 2 s in which one process computed, the kernel reclaimed and two threads waited."""
    root = tree(tmp_path, files=FILES)
    before = CpuSnapshot(
        moment_seconds=time.monotonic() - 2.0,
        busy_ticks=1510 - 8 * TICKS // 2,
        steal_ticks=40,
        processes={
            42: ProcessTime(name="python3", ticks=400 - TICKS, major_faults=0, kernel=False),
            7: ProcessTime(name="cc1", ticks=200 - TICKS, major_faults=0, kernel=False),
            9: ProcessTime(name="kswapd0", ticks=400 - TICKS, major_faults=0, kernel=True),
        },
        waits={"42": 2_000_000_000},
    )
    found = cpu_load_since(before, root, pid=42, own=(), threads=2)
    assert found == CpuLoad(
        others_cores=pytest.approx(1.0, rel=0.1),
        steal_cores=0.0,
        wait_share=pytest.approx(1.0, rel=0.1),
        allowed_cores=2.0,
        threads_count=2,
        busiest=(found.busiest[0],),
    )
    assert found.busiest[0].startswith("cc1 (a) b (pid 7), 0.")


def test_a_kernel_that_tells_nothing_gives_none(tmp_path):
    """No counters, no load; no schedstat, no wait."""
    assert take_cpu_snapshot(tree(tmp_path / "a"), 42) is None
    assert cpu_load_since(None, tree(tmp_path / "b"), pid=42, own=(), threads=2) is None
    files = {name: text for name, text in FILES.items() if not name.endswith("schedstat")}
    root = tree(tmp_path / "c", files=files)
    found = cpu_load_since(take_cpu_snapshot(root, 42), root, pid=42, own=(), threads=2)
    assert (found.wait_share, found.others_cores) == (None, 0.0)


@pytest.mark.skipif(sys.platform != "linux", reason="asks this kernel; only Linux has /proc")
def test_a_busy_process_of_this_machine_is_named():
    """A loop that takes a CPU, seen from beside it."""
    root = Sysroot()
    before = take_cpu_snapshot(root, os.getpid())
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as loop:
        time.sleep(0.8)
        found = cpu_load_since(before, root, pid=os.getpid(), own=(), threads=1)
        loop.kill()
    assert found.others_cores > 0.1
    assert found.wait_share is None or found.wait_share >= 0
    assert found.allowed_cores == pytest.approx(len(os.sched_getaffinity(0))) or found.allowed_cores > 0


@pytest.mark.skipif(sys.platform != "linux", reason="asks this kernel; only Linux has /proc")
def test_work_of_our_own_is_not_anothers():
    """The same loop, told to be ours."""
    root = Sysroot()
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as loop:
        before = take_cpu_snapshot(root, None)
        time.sleep(0.5)
        theirs = cpu_load_since(before, root, pid=None, own=(), threads=1)
        ours = cpu_load_since(before, root, pid=None, own=(loop.pid,), threads=1)
        loop.kill()
    assert ours.others_cores < theirs.others_cores
    assert not any(f"pid {loop.pid}" in name for name in ours.busiest)
