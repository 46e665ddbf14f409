"""How fast shards are hashed, against sha256sum over the same files one after another, in the same run."""

import os
import shutil
import subprocess
import time

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


def compare(benchmark, files, prepare):
    """Time both, taking turns; gives how many times as fast the suite is, by each one's least disturbed round."""
    theirs = []

    def take_turns():
        prepare(files)
        begin = time.perf_counter()
        subprocess.run(["sha256sum", *files], check=True, stdout=subprocess.DEVNULL)
        theirs.append(time.perf_counter() - begin)
        prepare(files)

    algorithms = dict.fromkeys(files, "sha256")
    benchmark.pedantic(
        hash_files,
        args=(algorithms,),
        kwargs={"cache": None, "rehash": False, "progress": None},
        setup=take_turns,
        rounds=ROUNDS,
    )
    if benchmark.stats is None:
        pytest.skip("timing is switched off")
    ours = benchmark.stats.stats.min
    ratio = min(theirs) / ours
    benchmark.extra_info.update(
        sha256sum_seconds=theirs, ratio=ratio, bytes_per_second=SHARD_COUNT * SHARD_BYTES / ours
    )
    return ratio


def test_warm_shards(benchmark, shards):
    """Cached shards are hashed at least 1.8 times as fast: two cores, and nearly nothing lost between them."""
    assert compare(benchmark, shards, warm) >= 1.8


def test_cold_shards(benchmark, shards):
    """Cold shards are hashed at least 4 times as fast, and are as cold afterwards."""
    ratio = compare(benchmark, shards, chill)
    assert residency(shards).share <= 0.01
    assert ratio >= 4
