"""Caches and memory nodes."""

from __future__ import annotations

import pytest

from streamworthy.facts.bandwidth import MemoryNode, NumaFacts
from streamworthy.probes.numa import probe_last_level_cache, probe_numa
from tests.selftest.probes.trees import tree

CPU = "sys/devices/system/cpu"


def cache(cpu, index, level, size, shared):
    """Give the files of one cache."""
    folder = f"{CPU}/cpu{cpu}/cache/index{index}"
    return {f"{folder}/level": f"{level}\n", f"{folder}/size": f"{size}\n", f"{folder}/shared_cpu_list": f"{shared}\n"}


def test_instances_of_the_highest_level_are_added_up(tmp_path):
    """Two dies of 32 MiB, each shared by two processors, and no cache of a lower level."""
    files = {}
    for cpu in range(4):
        files |= cache(cpu, 0, 1, "32K", str(cpu)) | cache(cpu, 3, 3, "32768K", "0-1" if cpu < 2 else "2-3")
    assert probe_last_level_cache(tree(tmp_path, files=files)) == 2 * 32 * 2**20


def test_megabytes_are_read_and_other_folders_are_not(tmp_path):
    """Some kernels write 1M; cpufreq and cpuidle lie beside the processors."""
    files = cache(0, 2, 2, "1M", "0") | {f"{CPU}/cpufreq/policy0/x": "1\n"}
    assert probe_last_level_cache(tree(tmp_path, files=files)) == 2**20


def test_caches_that_sysfs_does_not_tell_are_unknown(tmp_path):
    """Boards whose firmware says nothing, and broken values."""
    assert probe_last_level_cache(tree(tmp_path / "a")) is None
    assert probe_last_level_cache(tree(tmp_path / "b", files=cache(0, 3, 3, "big", "0"))) is None


NODES = {
    "sys/devices/system/node/node0/cpulist": "0-1,4\n",
    "sys/devices/system/node/node1/cpulist": "2-3\n",
    "sys/devices/system/node/node2/cpulist": "\n",
    "sys/devices/system/node/node3/cpulist": "5\n",
    "sys/devices/system/node/online": "0-3\n",
    "sys/devices/system/node/has_normal_memory": "0-2\n",
    "sys/devices/system/node/has_memory": "0-2\n",
    "proc/sys/vm/zone_reclaim_mode": "0\n",
    "proc/sys/kernel/numa_balancing": "1\n",
}


def test_nodes_with_memory_and_their_settings(tmp_path):
    """One node has no cores, one no memory and is left out; a kernel without NUMA tells nothing."""
    nodes = tuple(MemoryNode(number=number, cpus=cpus) for number, cpus in enumerate(((0, 1, 4), (2, 3), ())))
    assert probe_numa(tree(tmp_path / "a", files=NODES)) == NumaFacts(
        nodes=nodes, zone_reclaim_mode=0, numa_balancing=1
    )
    assert probe_numa(tree(tmp_path / "b")) == NumaFacts(nodes=None, zone_reclaim_mode=None, numa_balancing=None)


@pytest.mark.parametrize(("without", "count"), [(["has_memory"], 3), (["has_memory", "has_normal_memory"], 4)])
def test_older_kernels_tell_it_under_another_name(without, count, tmp_path):
    """Before 4.14 most builds have no has_memory; at the worst every node counts."""
    files = {name: text for name, text in NODES.items() if name.rpartition("/")[2] not in without}
    nodes = probe_numa(tree(tmp_path, files=files)).nodes
    assert nodes is not None
    assert len(nodes) == count
