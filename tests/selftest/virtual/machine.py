"""Boots a virtual machine, in software, whose root is this machine's: read-only, with a layer in memory above it.

What is asked of it is a module of this repository: it runs there with this Python and these packages, on another kernel
and other hardware.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.selftest.truth.others import with_parent
from tests.selftest.virtual.kit import QEMU
from tests.selftest.virtual.telling import END

ROOT = Path(__file__).parents[3]
_BOOT_MODULES = ("virtio_pci", "9p", "9pnet_virtio", "overlay")
_JOB = """cd {root}
export HOME=/tmp
{command} >/dev/ttyS0 2>&1
echo o >/proc/sysrq-trigger
while :; do :; done
"""
_INIT = """#!/bin/busybox sh
b=/bin/busybox
$b mkdir -p /proc /sys /dev /host /kit /layer /root
$b mount -t proc proc /proc; $b mount -t sysfs sys /sys; $b mount -t devtmpfs dev /dev
for module in {modules}; do $b insmod /modules/$module; done
for share in host kit; do
    $b mount -t 9p -o trans=virtio,version=9p2000.L,ro,msize=524288,cache=loose $share /$share
done
$b mount -t tmpfs -o size=60% layer /layer
$b mkdir /layer/upper /layer/work
$b mount -t overlay -o lowerdir=/kit:/host,upperdir=/layer/upper,workdir=/layer/work root /root
for place in proc sys dev; do $b mount --move /$place /root/$place; done
exec $b switch_root /root /bin/sh {job}
"""


def _with_dependencies(kit, names):
    """Give the modules' files, what they need first."""
    folder = kit.folder / "usr/lib/modules" / kit.version
    needs = {}
    for line in (folder / "modules.dep").read_text().splitlines():
        file, _, rest = line.partition(":")
        needs[Path(file).name.partition(".")[0].replace("-", "_")] = (file, rest.split())
    found = []
    for name in names:
        file, others = needs[name]
        found += [each for each in (*reversed(others), file) if each not in found]
    return [folder / file for file in found]


def _make_initramfs(kit, folder, job):
    tree = folder / "initramfs"
    (tree / "bin").mkdir(parents=True)
    (tree / "modules").mkdir()
    shutil.copy(kit.busybox, tree / "bin/busybox")
    modules = _with_dependencies(kit, _BOOT_MODULES)
    for module in modules:
        shutil.copy(module, tree / "modules")
    init = tree / "init"
    init.write_text(_INIT.format(modules=" ".join(module.name for module in modules), job=job))
    init.chmod(0o755)
    names = "\n".join(str(path.relative_to(tree)) for path in tree.rglob("*"))
    image = folder / "initramfs.cpio"
    with image.open("wb") as file:
        subprocess.run(
            [kit.busybox, "cpio", "-o", "-H", "newc"], cwd=tree, input=names.encode(), stdout=file, check=True
        )
    return image


def _drives(folder, devices, size_bytes):
    """Make a sparse file for each device that takes one; gives the arguments of QEMU."""
    arguments = []
    for number, text in enumerate(devices):
        if "{drive}" in text:
            image = folder / f"drive{number}.raw"
            with image.open("wb") as file:
                file.truncate(size_bytes)
            arguments += ["-drive", f"file={image},if=none,id=drive{number},format=raw,cache=unsafe"]
        for device in text.replace("{drive}", f"drive=drive{number}").split():
            arguments += ["-device", device]
    return arguments


def run_in(kit, module, *arguments, devices=(), options=(), size_bytes=2**30, patience_seconds=600):
    """Boot, run a module with these arguments, power off; gives the lines of JSON that it wrote.

    ``devices``: texts of QEMU's -device, several with blanks between; ``{drive}`` stands for a drive of its own.
    """
    with tempfile.TemporaryDirectory(prefix="streamworthy-virtual-") as scratch:
        folder = Path(scratch)
        said, told = folder / "said", folder / "told"
        inside = shlex.join([sys.executable, "-m", module, *map(str, arguments)])
        job = folder / "job"
        job.write_text(_JOB.format(root=ROOT, command=inside))
        command = [
            QEMU,
            *("-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-no-reboot", "-nodefaults"),
            *("-display", "none", "-serial", f"file:{said}", "-serial", f"file:{told}", "-monitor", "none"),
            *("-kernel", kit.kernel, "-initrd", _make_initramfs(kit, folder, job)),
            *("-append", "console=ttyS0 panic=-1 quiet"),
            *("-virtfs", "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap"),
            *("-virtfs", f"local,path={kit.folder},mount_tag=kit,security_model=none,readonly=on"),
            *_drives(folder, devices, size_bytes),
            *options,
        ]
        done = subprocess.run(
            with_parent("KILL", command),
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=patience_seconds,
        )
        assert done.returncode == 0, done.stderr
        lines = told.read_text(errors="replace").splitlines()
        assert lines[-1:] == [END], said.read_text(errors="replace")[-4000:]
        return [json.loads(line) for line in lines[:-1]]
