"""Real filesystems for tests that run as root. Not a test.

Each mount and each loop device is undone by its context manager, and has a guard: a process that undoes it when this
one is killed. Whatever ends a test, nothing stays.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from streamworthy.probes.mountinfo import unescape

NEED_TOOLS = "STREAMWORTHY_NEED_TOOLS"  # set where every package was installed: what is missing is then a failure
IMAGE_BYTES = 400 * 2**20  # sparse; mkfs.xfs asks for 300 MiB
_PATIENCE_SECONDS = 10.0

PACKAGES = {
    "mkfs.ext4": "e2fsprogs",
    "mkfs.xfs": "xfsprogs",
    "mkfs.btrfs": "btrfs-progs",
    "mkfs.exfat": "exfatprogs",
    "mkfs.vfat": "dosfstools",
    "mkntfs": "ntfs-3g",
    "ntfs-3g": "ntfs-3g",
    "mount.exfat-fuse": "exfat-fuse",
    "fusefat": "fusefat",
    "bindfs": "bindfs",
    "mksquashfs": "squashfs-tools",
    "mkfs.erofs": "erofs-utils",
}
MAKE = {
    "ext4": ["mkfs.ext4", "-q", "-F"],
    "xfs": ["mkfs.xfs", "-q", "-f"],
    "btrfs": ["mkfs.btrfs", "-q", "-f"],
    "vfat": ["mkfs.vfat", "-F", "32"],
    "exfat-fuse": ["mkfs.exfat"],
    "ntfs-3g": ["mkntfs", "--quick", "--force", "--quiet"],
}
SERVE = {  # the drivers in user space, kept in the foreground: a daemon would outlive its starter
    "exfat-fuse": ["mount.exfat-fuse", "-d"],
    "ntfs-3g": ["ntfs-3g", "-o", "no_detach"],
}


def need_root():
    """Skip where mounting is not possible; from then on SIGTERM and SIGHUP end the tests as Ctrl-C does."""
    if os.geteuid() != 0:
        pytest.skip("needs root: it mounts filesystems")
    if not Path("/dev/loop-control").exists():
        pytest.skip("needs loop devices: /dev/loop-control is absent")
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)


def need_tool(name):
    """Skip where a tool is not installed, with the package that has it; fail where all were said to be there."""
    if shutil.which(name) is None:
        package = PACKAGES.get(name, name)
        told = f"needs {name}, which is not installed: apt-get install {package}"
        (pytest.fail if os.environ.get(NEED_TOOLS) else pytest.skip)(told)


def run(*command):
    """Run a system tool; a kernel that does not know a filesystem, or may not, is a reason to skip."""
    need_tool(command[0])
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    told = f"{' '.join(command)}: {done.stderr.strip()}"
    if done.returncode and ("unknown filesystem type" in told or "permi" in told):
        pytest.skip(told)
    assert done.returncode == 0, told
    return done.stdout.strip()


@contextmanager
def mounted(target, *command):
    """Mount with a command that ends, unmount at the end; gives the mount point."""
    target.mkdir(exist_ok=True)
    before = _count(target)
    with _guarded("umount", str(target)):
        try:
            run(*command, str(target))
            yield target
        finally:  # also when the command was interrupted after it had mounted
            if _count(target) > before:
                _unmount(target)


def _count(target):
    """Count what is mounted at a place; is_mount() does not see a bind mount within a filesystem."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    return [unescape(line.split()[4]) for line in lines].count(str(target))


@contextmanager
def served(target, *command):
    """Mount with a process that stays in the foreground and dies with this one; gives the mount point."""
    need_tool(command[0])
    if not Path("/dev/fuse").exists():
        pytest.skip("needs FUSE: /dev/fuse is absent")
    target.mkdir(exist_ok=True)
    with _guarded("umount", str(target)):
        server = _started(*command, str(target))
        try:
            _wait_for(lambda: _count(target) or server.poll() is not None)
            assert server.poll() is None, f"{' '.join(command)}: ended with {server.returncode}"
            yield target
        finally:
            if _count(target):
                _unmount(target)
            _end(server)


def _end(server):
    """Wait for a process that has nothing left to serve; one that has is killed."""
    try:
        server.wait(timeout=_PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def _started(*command, **options):
    # in a session of its own, for Ctrl-C reaches all of a terminal's
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    return subprocess.Popen(command, **quiet, **options)


@contextmanager
def _guarded(*command):
    """Have a command run when this process is killed: its end of a pipe is closed before a line is written.

    What is mounted above has a guard of its own, so it is tried until that one is done.
    """
    script = 'read line || for try in $(seq 100); do "$0" "$@" && break; sleep 0.1; done'
    with _started("sh", "-c", script, *command, stdin=subprocess.PIPE) as guard:
        try:
            yield
        finally:
            guard.communicate(b"\n")


def _unmount(target):
    """Unmount a place and what an interrupted test left below it."""
    subprocess.run(["umount", "--recursive", str(target)], check=True)


def _wait_for(condition):
    end = time.monotonic() + _PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def make_image(image, kind, size_bytes=IMAGE_BYTES):
    """Make a filesystem in a sparse file."""
    with image.open("wb") as file:
        file.truncate(size_bytes)
    run(*MAKE[kind], str(image))


@contextmanager
def loop_device(image, *, direct=False):
    """Attach a file to a loop device, which lets it go when its last mount is gone; gives the device's path.

    ``direct``: its reads pass the page cache of the file by.
    """
    device = run("losetup", "--find", "--show", *(["--direct-io=on"] if direct else []), str(image))
    with _guarded("losetup", "--detach", device):
        try:
            yield device
        finally:  # while it is mounted this only marks it
            subprocess.run(["losetup", "--detach", device], check=True)


@contextmanager
def image_mounted(image, target, kind, *options, direct=False):
    """Mount a file that holds a filesystem; gives its device and mount point."""
    with ExitStack() as stack:
        with loop_device(image, direct=direct) as device:
            if kind in SERVE:
                way = served(target, *SERVE[kind], *options, device)
            else:
                way = mounted(target, "mount", "-t", kind, *options, device)
            stack.enter_context(way)
        yield device, target


@contextmanager
def filesystem(folder, kind, *options, direct=False, size_bytes=IMAGE_BYTES):
    """Make and mount a filesystem of a kind on a loop device; gives its device and mount point."""
    image = folder / f"{kind}.image"
    make_image(image, kind, size_bytes)
    try:
        with image_mounted(image, folder / kind, kind, *options, direct=direct) as found:
            yield found
    finally:
        image.unlink()


@contextmanager
def overlay(folder, lower):
    """Mount an overlay whose writable layer is in ``folder``; gives the mount point."""
    for name in ("upper", "work"):
        (folder / name).mkdir()
    layers = f"lowerdir={lower},upperdir={folder / 'upper'},workdir={folder / 'work'}"
    with mounted(folder / "merged", "mount", "-t", "overlay", "overlay", "-o", layers) as merged:
        yield merged
