"""Disk numbers beside fio's, pair by pair on one file: within 5 %, or within what fio differs from itself."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from statistics import median, quantiles

import pytest

from streamworthy.bench.direct_reads import ALIGNMENT_BYTES, DirectRefusedError, Piece, open_direct, read_pieces
from streamworthy.bench.random_child import random_pieces

pytestmark = pytest.mark.benchmark

FILE_BYTES = 1536 * 2**20
PAIRS = 20
SECONDS = 0.5
SLAB_BYTES = 1_622_016  # an expert of 2048 x 1408 weights at 4.5 bits, a multiple of 4 KiB as fio asks
AGREEMENT = 0.05
CHOOSER = random.Random()  # noqa: S311 - places, not secrets


@pytest.fixture(scope="module")
def fio():
    """Find the peer, or skip."""
    found = shutil.which("fio")
    if found is None:
        pytest.skip("fio is not installed: apt-get install fio")
    return found


@pytest.fixture(scope="module")
def shard(tmp_path_factory):
    """Make a file of random bytes that is on the disk alone; gone afterwards."""
    folder = tmp_path_factory.mktemp("fio")
    path = folder / "shard.gguf"
    block = os.urandom(16 * 2**20)
    with path.open("wb") as file:
        for number in range(FILE_BYTES // len(block)):
            file.write(block[number:] + block[:number])
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    try:
        with open_direct([path]):
            pass
    except DirectRefusedError as error:
        pytest.skip(error.message)
    yield path
    shutil.rmtree(folder)


def run_fio(fio, path, pattern, block, depth):
    """Give fio's bytes a second and its median latency in seconds."""
    engine = "libaio" if depth > 1 else "psync"  # whose latency holds the whole call, as ours does
    offset = sequential_start() if pattern == "read" else 0
    done = subprocess.run(
        [
            fio, "--name=peer", f"--filename={path}", "--readonly", "--direct=1", f"--rw={pattern}", f"--bs={block}",
            f"--ioengine={engine}", f"--iodepth={depth}", "--thread", "--time_based",
            f"--runtime={round(SECONDS * 1000)}ms", f"--offset={offset}", f"--size={FILE_BYTES - offset}",
            "--norandommap", f"--randseed={CHOOSER.randrange(2**31)}", "--output-format=json",
        ],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads(done.stdout)["jobs"][0]["read"]
    return found["bw_bytes"], found["clat_ns"]["percentile"]["50.000000"] / 1e9


def sequential_start():
    """Choose where a run in order begins, in the first half of the file."""
    return CHOOSER.randrange(FILE_BYTES // 2**21) * 2**20


def ours(path, pieces, depth, *, timed=False):
    """Give our bytes a second and median latency for the same time."""
    with open_direct([path]) as opened:
        done = read_pieces(opened, pieces, depth=depth, budget_seconds=SECONDS, timed=timed)
    return done.rate_bytes_per_second, median(done.latencies_seconds) if timed else None


def sequential(path):
    """1 MiB in order from a random place to the end, again and again."""
    places = list(range(sequential_start(), FILE_BYTES, 2**20)) * 20
    return [Piece(path=path, offset_bytes=place, size_bytes=2**20) for place in places]


def slabs(path):
    """Slabs at random places."""
    count = FILE_BYTES // SLAB_BYTES
    places = [CHOOSER.randrange(count) * SLAB_BYTES for _ in range(20_000)]
    return [Piece(path=path, offset_bytes=place, size_bytes=SLAB_BYTES) for place in places]


def take_turns(measure_ours, measure_theirs):
    """Give ratios of ours to theirs, and of theirs to theirs, from runs that alternate: theirs, ours, theirs."""
    to_theirs, among_theirs = [], []
    before = measure_theirs()
    for _ in range(PAIRS):
        mine, after = measure_ours(), measure_theirs()
        to_theirs.append(mine / ((before + after) / 2))
        among_theirs.append(after / before)
        before = after
    return to_theirs, among_theirs


def check(benchmark, tell, name, turns):
    """Require agreement, and tell the spread of both."""
    to_theirs, among_theirs = benchmark.pedantic(turns, rounds=1)
    distance = median(abs(ratio - 1) for ratio in among_theirs)
    benchmark.extra_info.update(ours_to_fio=to_theirs, fio_to_fio=among_theirs)
    tell(
        f"{name} beside fio",
        f"{median(to_theirs):.3f} of fio's (median of {PAIRS} pairs)",
        spread=f"{spread(to_theirs)}; fio beside itself {spread(among_theirs)}, median distance {distance:.3f}",
        promised=f"within {AGREEMENT:.0%}, or fio's own distance",
        kept=abs(median(to_theirs) - 1) <= max(AGREEMENT, distance),
    )


def spread(ratios):
    """Write the middle half of ratios."""
    low, _, high = quantiles(ratios, n=4)
    return f"{low:.2f} to {high:.2f}"


def test_sequential_reads_are_fios(benchmark, tell, fio, shard):
    """1 MiB, eight in flight."""
    check(
        benchmark,
        tell,
        "sequential 1 MiB QD8",
        lambda: take_turns(
            lambda: ours(shard, sequential(shard), 8)[0], lambda: run_fio(fio, shard, "read", 2**20, 8)[0]
        ),
    )


def test_single_small_reads_take_as_long_as_fios(benchmark, tell, fio, shard):
    """4 KiB at random, one in flight: the median latency."""
    check(
        benchmark,
        tell,
        "random 4 KiB QD1 latency",
        lambda: take_turns(
            lambda: ours(shard, random_pieces([shard], 50_000, CHOOSER), 1, timed=True)[1],
            lambda: run_fio(fio, shard, "randread", ALIGNMENT_BYTES, 1)[1],
        ),
    )


def test_slabs_are_fios(benchmark, tell, fio, shard):
    """Experts at random, eight in flight."""
    check(
        benchmark,
        tell,
        "slab 1.6 MB QD8",
        lambda: take_turns(
            lambda: ours(shard, slabs(shard), 8)[0], lambda: run_fio(fio, shard, "randread", SLAB_BYTES, 8)[0]
        ),
    )
