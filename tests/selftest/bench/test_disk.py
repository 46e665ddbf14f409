"""The disks below a model, measured on its shards."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from streamworthy.bench import disk as bench_disk
from streamworthy.bench import disk_files
from streamworthy.bench.disk import BUDGETS, Disk, DiskBudget
from streamworthy.bench.scratch_file import ScratchFile
from streamworthy.criteria import disk as judge
from streamworthy.errors import ProbeError
from streamworthy.gguf.subject import Subject
from streamworthy.probes.machine import Machine
from streamworthy.probes.sysroot import Sysroot
from streamworthy.sample.make import ensure_sample
from streamworthy.sample.spec import spec_for_size
from streamworthy.verdict import Word
from tests.selftest.bench.disk_file import make_disk_file
from tests.selftest.criteria.asked import limit
from tests.selftest.filesystems.mounts import filesystem, mounted, need_root
from tests.selftest.gguf.moe_files import write_model

SHORT = DiskBudget(seconds=0.6, rounds_count=2, sustained=False)
SPEC = replace(spec_for_size(200 * 10**6), n_layer=4, n_ff=64)  # 20 MB, 25 KB slabs


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A small sample on a disk; skips where this file system never gives its pages back."""
    folder = tmp_path_factory.mktemp("model")
    make_disk_file(folder, "probe").unlink()
    yield ensure_sample(folder, SPEC)
    shutil.rmtree(folder)


def disk_of(path, *, disturb=True, budget=SHORT, scratch=None):
    """Make what measures a model; other programs of the machine that runs the tests are not what is tested."""
    subject = Subject(path)
    machine = Machine(Sysroot(), model_paths=subject.paths, set_total_bytes=lambda: subject.set_total_bytes)
    folder = scratch or Path(path).parent
    return Disk(machine, subject, threads=2, budget=budget, disturb=disturb, scratch=lambda: folder)


def test_each_number_has_its_bytes(model):
    """Direct reads in order, at random and of slabs; the mapped paths began cold."""
    disk = disk_of(model)
    found, latency, slabs = disk.sequential, disk.latency, disk.slabs
    if found.state.method != "O_DIRECT":
        pytest.skip(found.state.method)
    assert (found.one.lanes_count, found.eight.lanes_count, len(found.eight.rates_bytes_per_second)) == (1, 8, 2)
    assert found.eight.useful_bytes % 2**20 == 0
    assert found.eight.own_bytes in (None, found.eight.useful_bytes)
    assert found.state.reread_ratio > 0
    assert (
        latency.median_seconds
        <= latency.p99_seconds
        == sorted(latency.latencies_seconds)[
            min(len(latency.latencies_seconds) - 1, int(len(latency.latencies_seconds) * 0.99))
        ]
    )
    assert latency.iops_many > 0
    assert slabs.slab_sizes_bytes == disk._files._subject.sizes.slab_bytes
    for size in slabs.sizes:
        assert size.mapped.resident_share <= 0.01
        assert size.one.useful_bytes % size.slab_bytes == size.eight.useful_bytes % size.slab_bytes == 0
        assert size.one.own_bytes is None or size.one.useful_bytes <= size.one.own_bytes <= 2 * size.one.useful_bytes
    assert disk.slabs is slabs


def test_a_minute_is_read_at_full_depth_only(model, monkeypatch):
    """Shorter depths say so; at full depth there is a rate for each second, and small shards are read again."""
    assert disk_of(model).sustained.skipped
    assert [name for name, budget in BUDGETS.items() if budget.sustained] == ["full"]
    monkeypatch.setattr(bench_disk, "_SUSTAINED_SECONDS", 3)
    found = disk_of(model, budget=replace(SHORT, sustained=True)).sustained
    if found.state.method == "O_DIRECT":
        assert (len(found.rates_bytes_per_second), found.skipped, found.wrapped) == (3, "", True)


def test_beside_a_process_that_maps_the_shards_nothing_is_read(model):
    """Without --disturb it is named; with it, the mapped paths say why they are not cold."""
    script = (
        "import mmap,sys;f=open(sys.argv[1],'rb');m=mmap.mmap(f.fileno(),0,prot=mmap.PROT_READ);m[:];print();input()"
    )
    with subprocess.Popen(
        ["python3", "-c", script, str(Subject(model).paths[1])], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        other.stdout.readline()
        quiet, disturbing = disk_of(model, disturb=False), disk_of(model)
        found = (quiet.sequential, quiet.latency, quiet.slabs, quiet.sustained)
        warm = disturbing.slabs
        other.stdin.close()
    assert all(f"(pid {other.pid})" in each.state.refused for each in found)
    assert (found[0].eight, found[1].latencies_seconds, found[2].sizes) == (None, (), ())
    assert f"(pid {other.pid})" in warm.warm
    assert warm.sizes[0].mapped is None
    amplification = judge.read_amplification(warm, disturbing._machine.read_ahead, limit(at_most=1.25))
    assert amplification.word is Word.INCONCLUSIVE


def test_before_the_shards_are_there_a_scratch_file_is_read(tmp_path, monkeypatch):
    """3 MB come from any cache: a file without a name takes their place, in slabs of the model's sizes."""
    make_disk_file(tmp_path, "probe").unlink()
    monkeypatch.setattr(disk_files, "ScratchFile", partial(ScratchFile, size_bytes=64 * 2**20))
    before = sorted(tmp_path.iterdir())
    path = write_model(tmp_path)
    disk = disk_of(path)
    found, slabs = disk.sequential, disk.slabs
    assert sorted(tmp_path.iterdir()) == sorted([*before, path])
    if found.state.method != "O_DIRECT":
        pytest.skip(found.state.method)
    assert found.state.scratch.startswith("a scratch file of 64.0 MiB, written just now")
    assert found.eight.useful_bytes >= 2**20
    assert {size.slab_bytes for size in slabs.sizes} <= set(disk._files._subject.sizes.slab_bytes)
    assert disk.latency.iops_many > 0
    asked = judge.sequential_read(found, limit(at_least=1.0))
    assert any(line.startswith("read=a scratch file") for line in asked.evidence)
    held = disk._files.paths[0]
    disk.close()
    assert not held.exists()


def test_a_scratch_folder_on_another_disk_measures_nothing(tmp_path):
    """Its numbers would be those of another disk."""
    other = Path("/dev/shm")  # noqa: S108 - nothing is written there
    if not other.is_dir() or other.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("no second file system is here")
    with pytest.raises(
        ProbeError, match=r"found 3\.\d MiB of shards, expected at least 16\.0 MiB .* is on another one"
    ):
        _ = disk_of(write_model(tmp_path), scratch=other).sequential


@pytest.mark.root
@pytest.mark.root
def test_memory_dressed_as_a_disk_is_inconclusive(tmp_path, model):
    """tmpfs takes O_DIRECT in new kernels and is many times as fast: no number of it is good."""
    need_root()
    with mounted(tmp_path, "mount", "-t", "tmpfs", "-o", "size=60m", "tmpfs"):
        for path in Subject(model).paths:
            shutil.copy(path, tmp_path)
        disk = disk_of(tmp_path / model.name)
        asked = {
            "sequential": judge.sequential_read(disk.sequential, limit(at_least=1.0)),
            "latency": judge.random_read(disk.latency, limit(at_most=1.0)),
            "slabs": judge.slab_read(disk.slabs, limit(at_least=1.0)),
            "amplification": judge.read_amplification(disk.slabs, disk._machine.read_ahead, limit(at_most=1.25)),
        }
    assert {name: found.word for name, found in asked.items()} == dict.fromkeys(asked, Word.INCONCLUSIVE)
    assert all("tmpfs" in found.cause for found in asked.values())


def test_holes_are_inconclusive(tmp_path, model):
    """A sparse copy reads zeros at the speed of memory."""
    for path in Subject(model).paths:
        copy = tmp_path / path.name
        copy.write_bytes(path.read_bytes()[: 2**20])
        os.truncate(copy, path.stat().st_size)
    disk = disk_of(tmp_path / model.name)
    found = judge.sequential_read(disk.sequential, limit(at_least=1.0))
    assert (found.word, "the holes are zeros" in found.cause) == (Word.INCONCLUSIVE, True)


@pytest.fixture
def loop(tmp_path):
    """An ext4 on a loop device of its own, whose read-ahead can be set; gone afterwards."""
    need_root()
    with filesystem(tmp_path, "ext4", direct=True) as (device, folder):
        yield Path(device).name, folder


@pytest.mark.root
@pytest.mark.slow
def test_read_ahead_is_seen_and_named(loop):
    """On one disk with slabs of 135 KiB, 8 MiB of read-ahead reads tens of times as much, 16 KiB hardly more."""
    name, folder = loop
    first = ensure_sample(folder, spec_for_size(220 * 10**6))
    setting = Path(f"/sys/block/{name}/queue/read_ahead_kb")
    ratios = {}
    for kib in (8192, 128, 16):
        setting.write_text(str(kib))
        disk = disk_of(first, budget=DiskBudget(seconds=3.0, rounds_count=3, sustained=False))
        rate = disk.slabs.sizes[0].mapped
        ratios[kib] = rate.own_bytes / rate.useful_bytes  # of others' reads the machine of the tests has many
        settings = disk._machine.read_ahead
        assert [(each.device, each.read_ahead_bytes) for each in settings.devices] == [(name, kib * 2**10)]
    assert ratios[8192] > 20
    assert 3 < ratios[128] < 8  # 1 + 4 x 128 / 135 = 4.8
    assert 1 <= ratios[16] < 2  # 1 + 4 x 16 / 135 = 1.5
