"""Machines of known truth are made, asked and undone; whether every cause is right is for ``make truth``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.selftest.truth.groups import NEEDS_GROUPS
from tests.selftest.truth.machines import MACHINES
from tests.selftest.truth.others import REPOSITORY, with_parent
from tests.selftest.truth.run import lacks, run_machines
from tests.selftest.truth.suite import MAPPED, RATE

_SIZE_BYTES = 200 * 10**6
_PATIENCE_SECONDS = 300

pytestmark = [*NEEDS_GROUPS, pytest.mark.slow, pytest.mark.skipif(bool(lacks()), reason=lacks() or "nothing lacks")]


@pytest.fixture(autouse=True)
def engine():
    """The engine, which all of these run."""
    pytest.importorskip("llama_cpp", reason="the engine is not installed")


def test_the_suite_is_asked_on_each_machine(tmp_path, capsys):
    """It judges all of them; weights come from the device where memory is short, and only there."""
    names = ("healthy", "RAM 1/4", "repack against the tier")
    machines = [MACHINES[name] for name in names]

    rows = run_machines(tmp_path, _SIZE_BYTES, 1, machines, options=("--disturb",), patience_seconds=0)
    rows = {row.machine.name: row for row in rows}

    assert set(rows) == set(names)
    for row in rows.values():
        assert row.said.word(RATE) in ("pass", "FAIL", "inconclusive"), row.said.output
    assert rows["healthy"].read_per_token_bytes == 0
    assert rows["RAM 1/4"].read_per_token_bytes > 0
    assert rows["RAM 1/4"].said.word(MAPPED) == "pass"
    assert rows["repack against the tier"].said.word(MAPPED) == "FAIL"
    assert "RAM 1/4" in capsys.readouterr().out
    assert left_by(os.getpid(), tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_undoes_what_was_done(tmp_path, number):
    """Disk, mount, swap, control groups and processes are gone, and the scratch folder is empty."""
    command = [sys.executable, "-m", "tests.selftest.truth.run", "--size=200MB", "--only=swap", "--patience=0"]
    running = subprocess.Popen(
        with_parent("TERM", [*command, f"--scratch={tmp_path}"]),
        cwd=REPOSITORY,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        wait_until(lambda: str(tmp_path) in Path("/proc/swaps").read_text() and members(running.pid), running)
        assert len(left_by(running.pid, tmp_path)) >= 5
        running.send_signal(number)
        assert running.wait(_PATIENCE_SECONDS) != 0
    finally:
        running.send_signal(signal.SIGTERM)
        running.wait(_PATIENCE_SECONDS)

    assert left_by(running.pid, tmp_path) == []


def wait_until(is_so, running):
    """Wait until something is so while a process runs."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not is_so():
        assert running.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)


def members(pid):
    """Give the processes in the memory group of a run."""
    place = Path(f"/sys/fs/cgroup/memory/streamworthy-test-{pid}/cgroup.procs")
    return place.read_text().split() if place.exists() else []


def left_by(pid, folder):
    """List what there is of a run: groups, files, and mounts, loop devices, swap and processes that name its folder."""
    found = [str(path) for path in Path("/sys/fs/cgroup").glob(f"*/streamworthy-test-{pid}")]
    found += [str(path) for path in folder.iterdir()]
    loops = subprocess.run(["losetup", "--all"], stdout=subprocess.PIPE, text=True, check=True).stdout
    texts = [loops, Path("/proc/self/mounts").read_text(), Path("/proc/swaps").read_text()]
    found += [line for text in texts for line in text.splitlines() if str(folder) in line]
    return found + [str(path) for path in Path("/proc").glob("[0-9]*/cmdline") if runs_in(path, pid, folder)]


def runs_in(cmdline, pid, folder):
    """Tell whether a process, other than the run itself, was started with a path in the folder."""
    try:
        return int(cmdline.parent.name) not in (pid, os.getpid()) and str(folder).encode() in cmdline.read_bytes()
    except OSError:  # it has ended
        return False
