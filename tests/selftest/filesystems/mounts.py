"""Real filesystems for tests that run as root. Not a test.

Each mount and each loop device is made and undone by a process of its own (keeper.py), whatever ends a test: nothing
stays.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

NEED_TOOLS = "STREAMWORTHY_NEED_TOOLS"  # set where every package was installed: what is missing is then a failure
ROOT = Path(__file__).parents[3]
IMAGE_BYTES = 400 * 2**20  # sparse; mkfs.xfs asks for 300 MiB

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
def _kept(way, target, *command):
    """Have a process of its own do something, and undo it when this one is done with it, interrupted or killed."""
    need_tool(command[0])
    keeper = [sys.executable, "-m", "tests.selftest.filesystems.keeper", way, str(target), *command]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    # in a session of its own, for Ctrl-C reaches all of a terminal's
    with subprocess.Popen(keeper, cwd=ROOT, start_new_session=True, text=True, **pipes) as kept:
        try:
            told = kept.stdout.readline().strip()
            if told:
                yield told
        finally:
            _, said = kept.communicate()
    problem = f"{' '.join(command)}: {said.strip()}"
    if not told and ("unknown filesystem type" in said or "permi" in said):
        pytest.skip(problem)
    assert kept.returncode == 0, problem


@contextmanager
def mounted(target, *command):
    """Mount with a command that ends, unmount at the end; gives the mount point."""
    target.mkdir(exist_ok=True)
    with _kept("mount", target, *command, str(target)):
        yield target


@contextmanager
def served(target, *command):
    """Mount with a process that stays in the foreground and ends with this one; gives the mount point."""
    if not Path("/dev/fuse").exists():
        pytest.skip("needs FUSE: /dev/fuse is absent")
    target.mkdir(exist_ok=True)
    with _kept("serve", target, *command, str(target)):
        yield target


def make_image(image, kind, size_bytes=IMAGE_BYTES):
    """Make a filesystem in a sparse file."""
    with image.open("wb") as file:
        file.truncate(size_bytes)
    run(*MAKE[kind], str(image))


def loop_device(image, *, direct=False):
    """Attach a file to a loop device while this is entered; gives the device's path.

    ``direct``: its reads pass the page cache of the file by.
    """
    options = ["--direct-io=on"] if direct else []
    return _kept("attach", image, "losetup", "--find", "--show", *options, str(image))


@contextmanager
def image_mounted(image, target, kind, *options, direct=False):
    """Mount a file that holds a filesystem; gives its device and mount point."""
    with loop_device(image, direct=direct) as device:
        if kind in SERVE:
            way = served(target, *SERVE[kind], *options, device)
        else:
            way = mounted(target, "mount", "-t", kind, *options, device)
        with way:
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
