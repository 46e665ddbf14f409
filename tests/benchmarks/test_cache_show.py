"""How fast residency is told, for 400 GB and beside vmtouch; and whether both count the same pages."""

import os
import re
import shutil
import subprocess
import sys
import time
from statistics import median

import pytest

from streamworthy.bench.evict import evict
from streamworthy.bench.page_cache import METHODS
from streamworthy.bench.residency_map import map_cache
from streamworthy.gguf.subject import Subject
from tests.selftest.bench.disk_file import make_disk_file
from tests.selftest.gguf.moe_files import write_sparse_set

pytestmark = pytest.mark.benchmark

SHARDS, LAYERS_EACH, EXPERTS = 39, 2, 256
EXPERT_DIMS = (6144, 2048 - 64)  # 78 layers of three tensors of 256 slabs of 6.9 MB: 411 GB, as a 744B model has
ROUNDS = 7


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """Make 39 shards of 411 GB that take no space: a header each, and holes."""
    folder = tmp_path_factory.mktemp("shards")
    paths = write_sparse_set(
        folder, shard_count=SHARDS, layers_each=LAYERS_EACH, expert_dims=EXPERT_DIMS, experts=EXPERTS
    )
    allocated = sum(path.stat().st_blocks * 512 for path in paths)
    assert sum(path.stat().st_size for path in paths) > 400 * 10**9
    if allocated > 10 * 2**20:
        pytest.skip(f"this file system allocates holes ({allocated} bytes)")
    yield paths
    shutil.rmtree(folder)


@pytest.fixture
def vmtouch():
    """Find the peer, or skip."""
    found = shutil.which("vmtouch")
    if found is None:
        pytest.skip("vmtouch is not installed: apt-get install vmtouch")
    return found


def require_cachestat(paths):
    """Skip where residency is told another way, which is slow."""
    if map_cache(paths[:1], ()).shards[0].method != METHODS[0]:
        pytest.skip("cachestat (Linux 6.5, and not overlayfs) does not answer here")


def require_quiet():
    """Skip while other processes want the cores."""
    if os.getloadavg()[0] > len(os.sched_getaffinity(0)):
        pytest.skip(f"other processes want these cores (load {os.getloadavg()[0]:.1f})")


def show(path):
    """Run the command; give its output."""
    command = [sys.executable, "-m", "streamworthy.cli", "cache", "show", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_400_gb_are_shown_in_under_a_second(benchmark, tell, shards):
    """The whole command: start of Python, 39 headers, residency of 39 files and 548 tensors, as text."""
    require_cachestat(shards)
    out = benchmark.pedantic(show, args=(shards[0],), rounds=ROUNDS, warmup_rounds=1)
    assert re.search(r"^routed experts +38\d\.\d GiB +0 B +0\.0 %$", out, re.MULTILINE)
    assert re.search(r"^77 +0\.0 % +0\.0 %$", out, re.MULTILINE)
    if benchmark.stats:
        best, middle = benchmark.stats.stats.min, benchmark.stats.stats.median
        tell(
            "cache show of 411 GB, the whole command",
            f"{best:.2f} s at best",
            spread=f"median {middle:.2f} s, n = {ROUNDS}",
            promised="under 1 s",
            kept=best < 1.0,
        )


def test_400_gb_are_told_faster_than_by_vmtouch(benchmark, tell, shards, vmtouch):
    """vmtouch asks mincore(2) about each page and tells of the set or of files, without tensors."""
    require_cachestat(shards)
    subject = Subject(shards[0])
    places = subject.places
    benchmark.pedantic(map_cache, args=(subject.paths, places), rounds=ROUNDS)
    began = time.perf_counter()
    subprocess.run([vmtouch, "-m", "1000G", *map(str, shards)], capture_output=True, check=True)
    theirs = time.perf_counter() - began
    if benchmark.stats:
        ours = benchmark.stats.stats.median
        benchmark.extra_info.update(theirs_seconds=theirs, ratio=theirs / ours)
        tell(
            "residency of 411 GB beside vmtouch",
            f"{theirs / ours:.0f} times as fast ({ours * 1e3:.1f} ms, {theirs:.2f} s)",
            promised="10 times as fast",
            kept=theirs / ours > 10,
        )


@pytest.mark.parametrize("method", METHODS[:2])
def test_both_count_the_same_pages(tell, tmp_path, vmtouch, method):
    """64 MiB of which scattered ranges are resident: equal to the page, by cachestat and by mincore."""
    path = make_disk_file(tmp_path, size=64 * 2**20)
    evict([path])
    with path.open("rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        for number in range(20):
            file.seek(number * 3 * 2**20 + 4096 * number)
            file.read(4096 * (1 + 7 * number))
    (shard,) = map_cache([path], (), without={METHODS[0]} if method == METHODS[1] else ()).shards
    out = subprocess.run([vmtouch, str(path)], capture_output=True, text=True, check=True).stdout
    resident, total = map(int, re.search(r"Resident Pages: (\d+)/(\d+)", out).groups())
    assert (shard.method, total) == (method, 64 * 2**20 // 4096)
    assert 0 < resident < total
    ours = shard.whole.resident_bytes // 4096
    tell(
        f"resident pages by {method} beside vmtouch",
        f"{ours} and {resident} of {total}",
        promised="equal",
        kept=ours == resident,
    )


def test_resident_files_are_told_as_fast(benchmark, tell, tmp_path, vmtouch):
    """200 MB that are all resident: calls of both take turns, and ours are within the process start of theirs."""
    require_quiet()
    path = make_disk_file(tmp_path, size=200 * 10**6)
    ours, theirs = [], []

    def take_turns():
        began = time.perf_counter()
        map_cache([path], ())
        middle = time.perf_counter()
        subprocess.run([vmtouch, str(path)], capture_output=True, check=True)
        ours.append(middle - began)
        theirs.append(time.perf_counter() - middle)

    benchmark.pedantic(take_turns, rounds=ROUNDS)
    benchmark.extra_info.update(ours_seconds=ours, theirs_seconds=theirs)
    tell(
        "residency of 200 MB in memory beside vmtouch",
        f"{median(ours) * 1e3:.1f} ms and {median(theirs) * 1e3:.1f} ms",
        promised="no slower",
        kept=median(ours) < median(theirs),
    )
