"""Who else uses the shards or their device."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from streamworthy.bench.disturbers import device_read_bytes, find_disturbers, find_mappers, process_read_bytes
from streamworthy.errors import ParseError, ProbeError
from streamworthy.facts.episode import Disturbers
from streamworthy.probes.sysroot import Sysroot

_DISKSTATS = "   8 0 sda 100 0 2000 5 0 0 0 0 0 5 5\n   8 1 sda1 90 0 1900 5 0 0 0 0 0 5 5\n"
_MAP_AND_WAIT = """
import mmap, sys
with open(sys.argv[1], 'rb') as file:
    area = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    print('mapped', flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def shard(tmp_path):
    """Make a file that can be mapped."""
    path = tmp_path / "model-00001-of-00001.gguf"
    path.write_bytes(b"GGUF" * 4096)
    return path


def make_machine(folder, **processes):
    """Make a captured machine with processes: ``p42={"comm": ..., "maps": ..., "io": ...}``."""
    (folder / "proc").mkdir(parents=True)
    (folder / "machine.toml").write_text('source = "made by a test"\n')
    (folder / "proc/diskstats").write_text(_DISKSTATS)
    for name, files in processes.items():
        place = folder / "proc" / name.removeprefix("p")
        place.mkdir()
        for file, text in files.items():
            (place / file).write_text(text)
    return Sysroot(folder)


def maps_line(path, *, device=None, name=None):
    """Write one line of /proc/PID/maps over a file."""
    found = path.stat()
    device = device or f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}"
    return f"7f0000000000-7f0000010000 r--s 00000000 {device} {found.st_ino}    {name or path.resolve()}\n"


def test_a_live_process_that_maps_the_shard_is_named(shard):
    """Another Python that has the file mapped is found by name and id."""
    with subprocess.Popen(
        [sys.executable, "-c", _MAP_AND_WAIT, str(shard)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        other.stdout.readline()
        found, _ = find_mappers(Sysroot(), [shard])
        owned, _ = find_mappers(Sysroot(), [shard], own=[other.pid])
        other.stdin.close()

    assert len(found) == 1
    assert found[0].endswith(f"(pid {other.pid})")
    assert owned == ()


def test_a_captured_mapper_is_named_and_others_are_not(tmp_path, shard):
    """The inode decides together with the device or, on btrfs, with the path."""
    other_file = maps_line(shard, name="/elsewhere/file", device="99:99")
    root = make_machine(
        tmp_path / "machine",
        p11={"comm": "llama-server\n", "maps": maps_line(shard, name="/other/mount/of/it")},
        p12={"comm": "btrfs-user\n", "maps": maps_line(shard, device="00:2a")},
        p13={"comm": "bystander\n", "maps": other_file + "7f00-7f10 rw-p 00000000 00:00 0\n"},
    )

    assert find_mappers(root, [shard]) == (("llama-server (pid 11)", "btrfs-user (pid 12)"), 0)


def test_processes_that_cannot_be_looked_into_are_counted(tmp_path, shard):
    """A process without readable maps is said to be hidden."""
    root = make_machine(tmp_path / "machine", p11={"comm": "secret\n"})

    found = find_disturbers(root, [shard], devices=["sda"], own=(), window_seconds=0.0)

    assert found == Disturbers(mapping=(), reading=(), hidden="1 processes of other users cannot be looked into")


def test_hidepid_is_said(tmp_path, shard):
    """With hidepid nobody can say that nobody else maps the shards."""
    root = make_machine(
        tmp_path / "machine", pself={"mountinfo": "22 1 0:20 / /proc rw - proc proc rw,hidepid=invisible\n"}
    )

    assert "hidepid" in find_disturbers(root, [shard], devices=["sda"], own=(), window_seconds=0.0).hidden


@pytest.mark.parametrize(
    ("device_bytes", "process_bytes", "expected"),
    [
        (10 * 2**20, 10 * 2**20, ()),
        (400 * 2**20, 400 * 2**20, ("cp (pid 11), ",)),
        (400 * 2**20, 0, ("an unseen reader of sda, ",)),
    ],
)
def test_a_reader_is_named_when_the_device_reads(tmp_path, shard, device_bytes, process_bytes, expected):
    """Below 16 MiB/s nobody disturbs; above it the process is named, or the device when no process is seen."""
    root = make_machine(tmp_path / "machine", p11={"comm": "cp\n", "maps": "", "io": "read_bytes: 1000\n"})
    sectors = 2000 + device_bytes // 512

    def read():
        root.path("proc/diskstats").write_text(_DISKSTATS.replace(" 2000 ", f" {sectors} "))
        root.path("proc/11/io").write_text(f"read_bytes: {1000 + process_bytes}\n")

    timer = threading.Timer(0.2, read)
    timer.start()
    found = find_disturbers(root, [shard], devices=["sda"], own=(), window_seconds=0.8)
    timer.join()

    assert len(found.reading) == len(expected)
    assert all(reading.startswith(start) for reading, start in zip(found.reading, expected, strict=True))


def test_names_are_not_repeated():
    """A process that maps and reads stands once."""
    found = Disturbers(mapping=("a (pid 1)",), reading=("a (pid 1)", "b (pid 2)"), hidden="")

    assert found.names == ("a (pid 1)", "b (pid 2)")


def test_device_bytes_count_sectors_of_512_bytes(tmp_path):
    """Named devices are summed; an unknown one or none makes the sum unknown."""
    root = make_machine(tmp_path / "machine")

    assert device_read_bytes(root, ["sda", "sda1"]) == 3900 * 512
    assert device_read_bytes(root, ["nvme0n1"]) is None
    assert device_read_bytes(root, []) is None


def test_own_read_bytes_are_told_and_a_strange_format_is_an_error(tmp_path):
    """The error names the file and what was expected."""
    root = make_machine(tmp_path / "machine", p11={"io": "rchar: 5\n"})

    assert process_read_bytes(Sysroot(), os.getpid()) >= 0
    with pytest.raises(ParseError, match=r"read_bytes: /proc/11/io: found 'rchar: 5\\n', expected read_bytes: N"):
        process_read_bytes(root, 11)
    with pytest.raises(ProbeError, match="/proc/12/io"):
        process_read_bytes(root, 12)
