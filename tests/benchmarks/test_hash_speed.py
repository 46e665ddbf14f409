"""How fast shards are hashed, against sha256sum over the same files one after another, in the same run."""

import mmap
import os
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median

import pytest

from streamworthy.bench.evict import evict
from streamworthy.bench.residency import residency
from streamworthy.errors import ProbeError
from streamworthy.gguf.hashes import hash_files

pytestmark = pytest.mark.benchmark

SHARD_COUNT = 6
SHARD_BYTES = 40 * 10**6
ROUNDS = 7


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """About 240 MB of incompressible bytes in six files, on their disk."""
    if shutil.which("sha256sum") is None or len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs sha256sum and two cores")
    if os.getloadavg()[0] > len(os.sched_getaffinity(0)):
        pytest.skip(f"other processes want these cores (load {os.getloadavg()[0]:.1f}): two threads do not get two")
    folder = tmp_path_factory.mktemp("shards")
    files = tuple(folder / f"m-{number:05}-of-{SHARD_COUNT:05}.gguf" for number in range(1, SHARD_COUNT + 1))
    for file in files:
        with file.open("wb") as out:
            out.write(os.urandom(SHARD_BYTES))
            os.fsync(out.fileno())
    yield files
    shutil.rmtree(folder)


def chill(files):
    """Take the files out of the page cache, or skip."""
    try:
        evict(files)
        share = residency(files).share
    except ProbeError as error:
        pytest.skip(error.message)
    if share > 0.01:
        pytest.skip("pages stay in this file system's cache")


def warm(files):
    """Bring the files into the page cache."""
    for file in files:
        file.read_bytes()


def read_directly(files):
    """Read the files past the page cache, eight reads of 1 MiB in flight: what the disk gives, without any hashing."""
    handles = [os.open(file, os.O_RDONLY | os.O_DIRECT) for file in files]
    work = [(handle, offset) for handle in handles for offset in range(0, SHARD_BYTES, 2**20)]

    def read(part):
        buffer = mmap.mmap(-1, 2**20)
        for handle, offset in part:
            os.preadv(handle, [buffer], offset)

    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(read, [work[start::8] for start in range(8)]))
    finally:
        for handle in handles:
            os.close(handle)


def timed(call, *arguments, **options):
    """Give a call's seconds."""
    begin = time.perf_counter()
    call(*arguments, **options)
    return time.perf_counter() - begin


def compare(benchmark, files, prepare):
    """Take turns with sha256sum and bare direct reads; gives how many times as fast the suite is as the former."""
    theirs, disk = [], []

    def take_turns():
        prepare(files)
        disk.append(timed(read_directly, files))
        prepare(files)
        theirs.append(timed(subprocess.run, ["sha256sum", *files], check=True, stdout=subprocess.DEVNULL))
        prepare(files)

    benchmark.pedantic(
        hash_files,
        args=(dict.fromkeys(files, "sha256"),),
        kwargs={"cache": None, "rehash": False, "progress": None},
        setup=take_turns,
        rounds=ROUNDS,
    )
    if benchmark.stats is None:
        pytest.skip("timing is switched off")
    ours = benchmark.stats.stats.median
    benchmark.extra_info.update(
        sha256sum_seconds=theirs,
        disk_seconds=disk,
        ratio=median(theirs) / ours,
        bytes_per_second=SHARD_COUNT * SHARD_BYTES / ours,
    )
    return median(theirs) / ours


def test_warm_shards(benchmark, tell, shards):
    """Cached shards are hashed at least 1.8 times as fast: two cores, and nearly nothing lost between them."""
    ratio = compare(benchmark, shards, warm)
    tell("hashing warm shards beside sha256sum", f"{ratio:.1f} times as fast", promised="1.8 times", kept=ratio >= 1.8)


def test_cold_shards(benchmark, tell, shards):
    """Cold shards are hashed at least 4 times as fast, and are as cold afterwards."""
    ratio = compare(benchmark, shards, chill)
    assert residency(shards).share <= 0.01
    tell("hashing cold shards beside sha256sum", f"{ratio:.1f} times as fast", promised="4 times", kept=ratio >= 4)
