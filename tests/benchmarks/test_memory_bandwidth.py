"""Memory's read rate beside a loop in C that is compiled here: at least 90 % of it."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import threading
import time
from statistics import median

import pytest

from streamworthy.bench.memory import measure_bandwidth
from streamworthy.probes.sysroot import Sysroot

pytestmark = pytest.mark.benchmark

TURNS = 15
LOOP = """
#include <stddef.h>
#include <stdint.h>
typedef uint64_t four __attribute__((vector_size(32), aligned(8)));
uint64_t read_all(const uint64_t *words, size_t count) {
    const four *w = (const four *)words;
    four a = {0}, b = {0}, c = {0}, d = {0};
    for (size_t i = 0; i + 4 <= count / 4; i += 4) { a ^= w[i]; b ^= w[i + 1]; c ^= w[i + 2]; d ^= w[i + 3]; }
    a ^= b ^ c ^ d;
    return a[0] ^ a[1] ^ a[2] ^ a[3];
}
"""


@pytest.fixture(scope="module")
def read_all(tmp_path_factory):
    """Compile the loop, or skip."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler is installed: apt-get install gcc")
    folder = tmp_path_factory.mktemp("loop")
    (folder / "loop.c").write_text(LOOP)
    command = [compiler, "-O3", "-march=native", "-shared", "-fPIC", "-o", folder / "loop.so", folder / "loop.c"]
    subprocess.run(command, check=True, capture_output=True)
    function = ctypes.CDLL(str(folder / "loop.so")).read_all
    function.argtypes, function.restype = (ctypes.c_void_p, ctypes.c_size_t), ctypes.c_uint64
    return function


def rate_of_loop(read_all, words, threads):
    """Give the loop's bytes a second over the words, each thread its part, four times over."""
    part, times = len(words) // threads, 4
    starts = [words.ctypes.data + number * part * 8 for number in range(threads)]

    began, ended = [], []
    barrier = threading.Barrier(threads, action=lambda: began.append(time.perf_counter()))

    def work(start):
        barrier.wait()
        for _ in range(times):
            read_all(start, part)
        ended.append(time.perf_counter())

    workers = [threading.Thread(target=work, args=(start,)) for start in starts]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return part * threads * 8 * times / (max(ended) - began[0])


def test_at_least_nine_tenths_of_a_loop_in_c(benchmark, tell, read_all):
    """Turns of both on a working set of the same size, with as many threads as there are cores."""
    import numpy as np

    cores = len(os.sched_getaffinity(0))
    ours, theirs = [], []

    def take_turns():
        found = measure_bandwidth(Sysroot(), cores=cores, passes=3, available_bytes=2**40, slab_bytes=None)
        words = np.ones(found.working_set_bytes // 8, dtype=np.uint64)
        ours.append(found.sweep[-1].median_bytes_per_second)
        theirs.append(median(rate_of_loop(read_all, words, cores) for _ in range(3)))

    benchmark.pedantic(take_turns, rounds=TURNS)
    ratios = [mine / other for mine, other in zip(ours, theirs, strict=True)]
    benchmark.extra_info.update(ours=ours, theirs=theirs)
    tell(
        f"memory beside a loop in C, {cores} threads",
        f"{median(ratios):.3f} of C's ({median(ours) / 1e9:.1f} of {median(theirs) / 1e9:.1f} GB/s)",
        spread=f"{min(ratios):.2f} to {max(ratios):.2f}, n = {len(ratios)}",
        promised="at least 0.90",
        kept=median(ratios) >= 0.9,
    )
