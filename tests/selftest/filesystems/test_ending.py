"""However a run ends, no mount, no loop device and no FUSE process stays."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from tests.selftest.filesystems.mounts import MAKE, filesystem, mounted, need_root, need_tool, served

ROOT = Path(__file__).parents[3]
# what is mounted last in each: on a loop device, over a process that serves it, on a file that a process serves
LAYOUTS = {"image in memory": "ext4", "NTFS, ntfs-3g": "fuseblk", "image behind FUSE": "ext4"}


def left_of(folder):
    """List what is left of a run: loop devices on files of its folder, its mounts, and processes that name it."""
    found = [file.read_text().strip() for file in Path("/sys/block").glob("loop*/loop/backing_file")]
    found += Path("/proc/self/mounts").read_text().splitlines()
    found += [" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])]
    return [line for line in found if str(folder) in line]


def has_mounted(folder, fstype):
    """Tell whether a filesystem of a kind is mounted below a folder."""
    lines = Path("/proc/self/mounts").read_text().splitlines()
    return any(line.split()[1].startswith(str(folder)) and line.split()[2] == fstype for line in lines)


def wait_until(condition):
    """Wait for something that comes soon."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def folder():
    """Give a folder that is removed also after a run that could not remove its own, if nothing is mounted there."""
    need_root()
    for tool in ("bindfs", "ntfs-3g"):
        need_tool(tool)
    name = Path(tempfile.mkdtemp(prefix="streamworthy-ending-"))
    yield name
    assert left_of(name) == []
    shutil.rmtree(name)


@pytest.mark.root
@pytest.mark.parametrize(
    ("layout", "number"),
    [
        *(("image in memory", number) for number in ("SIGINT", "SIGTERM", "SIGHUP", "SIGKILL")),
        *(("NTFS, ntfs-3g", number) for number in ("SIGTERM", "SIGKILL")),
        *(("image behind FUSE", number) for number in ("SIGINT", "SIGKILL")),
    ],
)
def test_an_interrupted_run_leaves_nothing(folder, layout, number):
    """Ended while the filesystem is mounted, by a signal that can be heeded or by one that cannot."""
    test = f"tests/selftest/filesystems/test_filesystems.py::test_each_gate_tells_the_truth[{layout}]"
    heeded = ["env", f"--default-signal={number}"] if number != "SIGKILL" else []  # nohup has what it starts ignore it
    command = [*heeded, sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-m", "root", test]
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR": str(folder)}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL) as run:
        try:
            wait_until(lambda: run.poll() is not None or has_mounted(folder, LAYOUTS[layout]))
            assert run.poll() is None, "the run ended before it was interrupted"
            run.send_signal(getattr(signal, number))
            assert run.wait(timeout=60) != 0
        finally:
            run.kill()
    wait_until(lambda: not left_of(folder))


@pytest.mark.root
@pytest.mark.parametrize("kind", ["ext4", "ntfs-3g"])
def test_an_interruption_at_any_moment_leaves_nothing(folder, kind):
    """Also while it is mounted or unmounted: twenty moments of a whole use."""

    def use():
        with filesystem(folder, kind):
            pass

    def end(*_):
        raise KeyboardInterrupt

    need_tool(MAKE[kind][0])
    begun = time.monotonic()
    use()
    whole_seconds = time.monotonic() - begun
    before, interrupted = signal.signal(signal.SIGALRM, end), 0
    try:
        for moment in range(1, 21):
            try:
                signal.setitimer(signal.ITIMER_REAL, whole_seconds * moment / 21)
                use()
            except KeyboardInterrupt:
                interrupted += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            wait_until(lambda: not left_of(folder))
    finally:
        signal.signal(signal.SIGALRM, before)
    assert interrupted > 10


@pytest.mark.root
def test_a_failure_leaves_nothing(folder):
    """A test that fails, or a tool that does, in the midst of three mounts."""

    def fail_within():
        with (
            mounted(folder / "memory", "mount", "-t", "tmpfs", "none") as memory,
            filesystem(memory, "ext4") as (_, disk),
        ):
            assert left_of(folder)
            with served(folder / "relayed", "bindfs", "-f", str(disk)):
                raise KeyError

    with pytest.raises(KeyError):
        fail_within()
    assert left_of(folder) == []
    with (
        pytest.raises(AssertionError, match="ended with"),
        served(folder / "relayed", "bindfs", "-f", str(folder / "absent")),
    ):
        pass
    assert left_of(folder) == []
