"""Reading memory with threads."""

from __future__ import annotations

import pytest

from streamworthy.bench.memory import knee_of, measure_bandwidth, thread_counts
from streamworthy.errors import ProbeError
from streamworthy.facts.bandwidth import NumaFacts, ThreadRates
from tests.selftest.probes.trees import tree


@pytest.mark.parametrize(
    ("cores", "counts"), [(1, (1,)), (2, (1, 2)), (3, (1, 2, 3)), (8, (1, 2, 4, 8)), (12, (1, 2, 4, 8, 12))]
)
def test_threads_double_up_to_the_cores(cores, counts):
    """Powers of two, and the cores."""
    assert thread_counts(cores) == counts


@pytest.mark.parametrize(
    ("medians", "knee"),
    [((10, 20, 21), 2), ((10, 20, 21.1), 4), ((10, 9, 8), 1), ((95, 100, 99), 1), ((94.9, 100, 99), 2)],
)
def test_the_knee_is_the_fewest_threads_near_the_best(medians, knee):
    """Within 5 %."""
    rates = [
        ThreadRates(threads_count=threads, rates_bytes_per_second=(value, value, value))
        for threads, value in zip((1, 2, 4), medians, strict=True)
    ]
    assert knee_of(rates) == knee


def test_memory_is_read_in_order_and_scattered(tmp_path):
    """Every pass of each thread count has a rate; a machine that tells no caches gets 256 MiB."""
    found = measure_bandwidth(tree(tmp_path), cores=2, passes=3, available_bytes=2**40, slab_bytes=3 * 2**20)
    assert [(each.threads_count, len(each.rates_bytes_per_second)) for each in found.sweep] == [(1, 3), (2, 3)]
    assert (found.working_set_bytes, found.last_level_cache_bytes, found.slab_bytes) == (2**28, None, 3 * 2**20)
    assert found.scattered.threads_count == found.knee_threads_count == found.at_knee.threads_count
    assert all(1e8 < rate < 1e12 for rate in found.at_knee.rates_bytes_per_second)
    assert 0 < found.steady_share <= 1
    assert found.numa == NumaFacts(nodes=None, zone_reclaim_mode=None, numa_balancing=None)
    assert (found.placed, found.unplaced) == (None, "this kernel tells no memory nodes")


def test_the_working_set_is_four_times_the_caches(tmp_path):
    """40 MiB of last-level cache ask for 160 MiB; small slabs are read in larger pieces."""
    folder = "sys/devices/system/cpu/cpu0/cache/index3"
    files = {f"{folder}/level": "3\n", f"{folder}/size": "40960K\n", f"{folder}/shared_cpu_list": "0\n"}
    found = measure_bandwidth(tree(tmp_path, files=files), cores=1, passes=1, available_bytes=2**40, slab_bytes=100)
    assert (found.working_set_bytes, found.last_level_cache_bytes, found.slab_bytes) == (160 * 2**20, 40 * 2**20, 2**20)


def test_too_little_memory_is_an_error(tmp_path):
    """A working set within the caches would be no memory."""
    with pytest.raises(
        ProbeError, match=r"found 1023\.0 MiB available, expected 1\.0 GiB: a working set of 256\.0 MiB"
    ):
        measure_bandwidth(tree(tmp_path), cores=1, passes=1, available_bytes=2**30 - 2**20, slab_bytes=None)
