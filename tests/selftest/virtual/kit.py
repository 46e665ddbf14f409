"""What a virtual machine is made of: a Debian kernel with its modules, and the tools that make RAID, LVM and LUKS.

``python -m tests.selftest.virtual.kit`` downloads the packages with apt-get and unpacks them into the cache; nothing of
them is installed or run here but busybox. QEMU itself has to be installed: apt-get install qemu-system-x86.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from streamworthy.errors import ProbeError
from tests.selftest.filesystems.mounts import NEED_TOOLS

QEMU = "qemu-system-x86_64"
_KERNEL = re.compile(r"Depends: (linux-image-[0-9]\S+)")
_TOOLS = (
    "busybox-static",
    "kmod",
    "mdadm",
    "lvm2",
    "libdevmapper-event1.02.1",
    "dmsetup",
    "libdevmapper1.02.1",
    "libaio1",
    "libedit2",
    "thin-provisioning-tools",
    "cryptsetup-bin",
    "libcryptsetup12",
    "libargon2-1",
    "libjson-c5",
    "libpopt0",
    "bcache-tools",
    "f2fs-tools",
    "nfs-kernel-server",
    "nfs-common",
    "rpcbind",
    "libtirpc3",
    "libnfsidmap1",
    "libwrap0",
    "libevent-core-2.1-7",
    "libkeyutils1",
    "libgssapi-krb5-2",
    "libkrb5-3",
    "libk5crypto3",
    "libkrb5support0",
    "libcom-err2",
    "libtirpc-common",
    "netbase",
    "libsqlite3-0",
    "libreadline8",
    "fdisk",
    "libfdisk1",
    "util-linux",
    "e2fsprogs",
    "btrfs-progs",
    "liblzo2-2",
    "dosfstools",
    "exfatprogs",
    "ntfs-3g",
    "libntfs-3g89",
)
_MERGED = ("bin", "sbin", "lib")  # into /usr: a folder of that name would hide the link of the machine's root


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """The unpacked packages."""

    folder: Path

    @property
    def kernel(self):
        """The compressed kernel."""
        return next((self.folder / "boot").glob("vmlinuz-*"))

    @property
    def version(self):
        """What ``uname -r`` gives there."""
        return self.kernel.name.removeprefix("vmlinuz-")

    @property
    def busybox(self):
        """A static program that runs before there is a root."""
        return self.folder / "usr/bin/busybox"


def kit_folder():
    """Say where the kit is kept."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "streamworthy" / "virtual"


def need_kit():
    """Give the kit; skip where there is none, and fail where all was said to be there."""
    lacks = [] if shutil.which(QEMU) else [f"{QEMU}: apt-get install qemu-system-x86"]
    if not kit_folder().exists():
        lacks.append("a kernel: make virtual")
    if platform.machine() != "x86_64":
        pytest.skip("needs x86-64: this machine's own programs run on the virtual one")
    if lacks:
        (pytest.fail if os.environ.get(NEED_TOOLS) else pytest.skip)(f"needs {', and '.join(lacks)}")
    return Kit(folder=kit_folder())


def _run(*command, folder):
    return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout


def make_kit(target):
    """Download and unpack the packages into a folder that is there only when it is whole."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="streamworthy-kit-", dir=target.parent) as scratch:
        work, root = Path(scratch), Path(scratch) / "root"
        found = _KERNEL.search(_run("apt-cache", "depends", "linux-image-amd64", folder=work))
        if found is None:
            raise ProbeError("apt-cache does not know linux-image-amd64")
        _run("apt-get", "download", "-qq", found[1], *_TOOLS, folder=work)
        for package in work.glob("*.deb"):
            _run("dpkg-deb", "--extract", str(package), str(root), folder=work)
        for name in _MERGED:
            shutil.copytree(root / name, root / "usr" / name, symlinks=True, dirs_exist_ok=True)
            shutil.rmtree(root / name)
        kit = Kit(folder=root)
        (root / "lib").symlink_to("usr/lib")
        libraries = next((root / "usr/lib").glob("*-linux-gnu"))
        subprocess.run(
            ["depmod", "-b", str(root), kit.version],
            executable=root / "usr/bin/kmod",
            env={"LD_LIBRARY_PATH": str(libraries)},
            check=True,
        )
        (root / "lib").unlink()
        root.rename(target)
    return Kit(folder=target)


def main():
    """Make the kit once; gives the exit code."""
    if kit_folder().exists():
        return 0
    if shutil.which("apt-get") is None:
        sys.stderr.write("a kernel for virtual machines is unpacked from Debian's packages: apt-get is not here\n")
        return 1
    try:
        make_kit(kit_folder())
    except (ProbeError, subprocess.CalledProcessError) as error:
        sys.stderr.write(
            f"a kernel for virtual machines was not unpacked: {error}\nfix: sudo apt-get update, and again\n"
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
