"""Caches and memory nodes."""

from __future__ import annotations

from streamworthy.facts.bandwidth import NumaFacts
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


def test_nodes_and_their_settings(tmp_path):
    """Two nodes, reclaim off, balancing on; a kernel without NUMA tells none of them."""
    files = {
        "sys/devices/system/node/node0/meminfo": "",
        "sys/devices/system/node/node1/meminfo": "",
        "sys/devices/system/node/online": "0-1\n",
        "proc/sys/vm/zone_reclaim_mode": "0\n",
        "proc/sys/kernel/numa_balancing": "1\n",
    }
    assert probe_numa(tree(tmp_path / "a", files=files)) == NumaFacts(
        nodes_count=2, zone_reclaim_mode=0, numa_balancing=1
    )
    assert probe_numa(tree(tmp_path / "b")) == NumaFacts(nodes_count=None, zone_reclaim_mode=None, numa_balancing=None)
