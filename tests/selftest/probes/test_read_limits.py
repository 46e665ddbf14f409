"""Limits of control groups on what is read from the model's disks."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from streamworthy.errors import ParseError, ProbeError
from streamworthy.facts.storage import ReadLimit
from streamworthy.probes.machine import Machine
from streamworthy.probes.read_limits import parse_io_max, parse_throttle
from tests.selftest.filesystems.mounts import filesystem, need_root
from tests.selftest.probes.folder import captured, changed
from tests.selftest.truth.groups import control_group, entering, has_hierarchy

IO_MAX = "259:0 rbps=52428800 wbps=max riops=max wiops=120\n8:16 rbps=max wbps=2097152 riops=max wiops=max\n"
READ = """
import json, os, sys, time
from pathlib import Path
from streamworthy.gguf.subject import Subject
from streamworthy.preparation import find_machine
from streamworthy.probes.sysroot import Sysroot
path = sys.argv[1]
limits = find_machine(Sysroot(), Subject(Path(path))).read_limits.limits
begun, descriptor = time.monotonic(), os.open(path, os.O_RDONLY)
os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
while os.read(descriptor, 2**20):
    pass
rate = os.fstat(descriptor).st_size / (time.monotonic() - begun)
found = [[each.group, each.device, each.bytes_per_second, each.reads_per_second] for each in limits]
json.dump([*found, rate], sys.stdout)
"""


def test_io_max_is_read():
    """As the kernel writes it: a line for each device that has any limit."""
    assert parse_io_max(IO_MAX, where="io.max") == {"259:0": (52428800, None), "8:16": (None, None)}
    assert parse_io_max("", where="io.max") == {}


def test_throttle_files_are_read():
    """Version 1: one kind a file."""
    assert parse_throttle("259:0 1048576\n8:0 18446744073709551615\n", where="x") == {
        "259:0": 1048576,
        "8:0": 18446744073709551615,
    }


@pytest.mark.parametrize("text", ["259:0 rbps=\n", "nvme0n1 rbps=1\n", "259:0 rbps=1 x\n", "\n"])
def test_a_malformed_io_max_names_its_line(text):
    """Never read past."""
    with pytest.raises(ParseError, match=r"io\.max, line 1"):
        parse_io_max(text, where="io.max")


@pytest.mark.parametrize("text", ["259:0\n", "259:0 max\n", "x 1\n", "\n"])
def test_a_malformed_throttle_file_names_its_line(text):
    """Never read past."""
    with pytest.raises(ParseError, match="x, line 1"):
        parse_throttle(text, where="x")


def limits_of(root):
    """Probe a captured machine."""
    return Machine(root).read_limits.limits


def test_a_parent_group_binds_in_version_2(tmp_path):
    """The container's own group has no line; the slice above it has."""
    root = captured("container-memory-limit")
    device = next(leaf for volume in Machine(root).volumes.volumes for leaf in volume.leaves)
    group = (root.path("proc/self/cgroup")).read_text().strip().removeprefix("0::")
    parent = group.rpartition("/")[0]
    files = {f"sys/fs/cgroup{parent}/io.max": f"{device.major_minor} rbps=1000000 wbps=max riops=50 wiops=max\n"}
    assert limits_of(changed(tmp_path, "container-memory-limit", files)) == (
        ReadLimit(
            group=parent or "/",
            file=f"/sys/fs/cgroup{parent}/io.max",
            device=device.name,
            major_minor=device.major_minor,
            drives_count=1,
            bytes_per_second=1000000,
            reads_per_second=50,
        ),
    )


def test_a_device_without_a_number_is_not_called_free(tmp_path):
    """A limit on it could not be told from one on another device."""
    root = captured("container-memory-limit")
    name = next(leaf.chain[0] for volume in Machine(root).volumes.volumes for leaf in volume.leaves)
    place = root.resolve(f"sys/class/block/{name}/dev")
    machine = Machine(changed(tmp_path, "container-memory-limit", {}))
    assert machine.volumes
    (tmp_path / "container-memory-limit" / place).unlink()
    assert machine.read_limits.unknown == f"/sys/class/block/{name}/dev is not told"


def test_another_disk_s_limit_does_not_bind(tmp_path):
    """Nor one of writes alone."""
    files = {"sys/fs/cgroup/io.max": "1:2 rbps=1 wbps=1 riops=1 wiops=1\n"}
    assert limits_of(changed(tmp_path, "container-memory-limit", files)) == ()


def test_a_malformed_limit_is_an_error(tmp_path):
    """Not taken for none."""
    with pytest.raises(ParseError, match="read limit"):
        limits_of(changed(tmp_path, "container-memory-limit", {"sys/fs/cgroup/io.max": "259:0 fast\n"}))


def test_groups_that_cannot_be_seen_are_an_error(tmp_path):
    """A limit may be there."""
    with pytest.raises(ProbeError, match="cannot be seen"):
        limits_of(changed(tmp_path, "container-memory-limit", {"proc/self/cgroup": "0::/../outside\n"}))


@pytest.mark.root
@pytest.mark.skipif(not has_hierarchy("blkio"), reason="needs root and the version 1 blkio hierarchy")
@pytest.mark.parametrize(
    ("setting", "amount", "found"),
    [("throttle.read_bps_device", 2 * 10**6, [2 * 10**6, None]), ("throttle.read_iops_device", 2, [None, 2])],
)
def test_a_real_limit_is_found_and_does_bind(tmp_path, setting, amount, found):
    """Of the loop device that holds a file, read with and without; in version 1 a parent's limit does not bind."""
    need_root()
    with filesystem(tmp_path, "ext4", direct=True) as (device, disk):
        path = disk / "model.gguf"
        path.write_bytes(b"GGUF" + bytes(10 * 2**20))
        name = device.removeprefix("/dev/")
        with open(f"/sys/block/{name}/dev") as file:  # noqa: PTH123 - one word
            number = file.read().strip()
        with control_group("blkio") as group:
            free = read_in(group, path)
            (group / f"blkio.{setting}").write_text(f"{number} {amount}")
            held = read_in(group, path)
            inner = group / "inner"
            inner.mkdir()
            try:
                below = read_in(inner, path)
            finally:
                inner.rmdir()
    most = amount if found[0] else amount * 2**21  # more than a request of a loop device holds
    assert free[:-1] == below[:-1] == []
    assert held[0][1:] == [name, *found]
    assert held[-1] < 1.5 * most
    assert below[-1] > 1.5 * most


def read_in(group, path):
    """Give the limits that are found in a group, and the rate of a read."""
    command = [*entering(group), sys.executable, "-c", READ, str(path)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
