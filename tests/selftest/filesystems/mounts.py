"""Real filesystems on loop devices for tests that run as root; undone on every exit."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

IMAGE_BYTES = 400 * 2**20  # sparse; mkfs.xfs asks for 300 MiB

MAKE = {
    "ext4": ["mkfs.ext4", "-q", "-F"],
    "xfs": ["mkfs.xfs", "-q", "-f"],
    "btrfs": ["mkfs.btrfs", "-q", "-f"],
    "ntfs-3g": ["mkntfs", "--quick", "--force", "--quiet"],
    "exfat-fuse": ["mkfs.exfat"],
}
MOUNT = {"ntfs-3g": ["ntfs-3g"], "exfat-fuse": ["mount.exfat-fuse"]}


def need_root():
    """Skip where mounting is not possible."""
    if os.geteuid() != 0:
        pytest.skip("needs root: it mounts filesystems")
    if not Path("/dev/loop-control").exists():
        pytest.skip("needs loop devices: /dev/loop-control is absent")


def run(*command):
    """Run a system tool; a tool that is not installed or a kernel that refuses is a reason to skip."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"needs {command[0]}, which is not installed")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout.strip()


@contextmanager
def mounted(target, *command):
    """Mount with a command, unmount at the end; gives the mount point."""
    target.mkdir(exist_ok=True)
    run(*command, str(target))
    try:
        yield target
    finally:
        subprocess.run(["umount", str(target)], check=True)


@contextmanager
def loop_device(image):
    """Attach a file to a loop device; gives the device's path."""
    with image.open("wb") as file:
        file.truncate(IMAGE_BYTES)
    device = run("losetup", "--find", "--show", str(image))
    try:
        yield device
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)
        image.unlink()


@contextmanager
def filesystem(folder, kind, *options):
    """Make and mount a filesystem of a kind on a loop device; gives its device and mount point."""
    with ExitStack() as stack:
        device = stack.enter_context(loop_device(folder / f"{kind}.image"))
        run(*MAKE[kind], device)
        mount = MOUNT.get(kind, ["mount", "-t", kind])
        yield device, stack.enter_context(mounted(folder / kind, *mount, *options, device))
