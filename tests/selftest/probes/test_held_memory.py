"""What holds memory besides programs, and the nodes that a cpuset leaves."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamworthy.errors import ParseError
from streamworthy.facts.memory import BoundMemory, HeldMemory
from streamworthy.probes.held_memory import parse_arcstats, parse_balloon, parse_node, parse_policy
from streamworthy.probes.memory import probe_commit_left, probe_memory
from tests.selftest.probes.folder import captured, changed

MIB = 2**20
ARC = """13 1 0x01 147 39984 4312334557 3498345984
name                            type data
hits                            4    554145157
p                               4    13963222064
c                               4    16381258376
c_min                           4    1041542400
c_max                           4    16664678400
size                            4    16319887096
"""
NODE = """Node 0 MemTotal:       16274100 kB
Node 0 MemFree:         4915522 kB
Node 0 MemUsed:        11358578 kB
Node 0 Active(file):    4683032 kB
Node 0 Inactive(file):  3831572 kB
Node 0 SReclaimable:     506166 kB
Node 0 HugePages_Total:     0
"""


def test_zfs_gives_back_what_its_cache_has_above_its_least(tmp_path):
    """openzfs#10255: MemAvailable does not count the ARC; it yields down to c_min."""
    found = probe_memory(changed(tmp_path, "laptop-nvme", {"proc/spl/kstat/zfs/arcstats": ARC}))
    assert (found.held.zfs_cache_bytes, found.held.zfs_cache_least_bytes) == (16319887096, 1041542400)
    assert found.held.yielding_bytes == 16319887096 - 1041542400
    # 26.7 million kB available and 15.3 GB of cache are more than the machine has in all
    assert found.working_available_bytes == found.total_bytes


def test_a_container_does_not_count_the_machines_cache_as_its_own(tmp_path):
    """LXCFS's meminfo tells of the container, arcstats of the machine."""
    found = probe_memory(changed(tmp_path, "lxc-lxcfs", {"proc/spl/kstat/zfs/arcstats": ARC}))
    assert found.held is None
    assert found.claimable_bytes == found.available_bytes


@pytest.mark.parametrize(
    ("files", "size_bytes"),
    [
        ({}, None),
        ({"proc/vmstat": "nr_free_pages 7\nballoon_inflate 4718592\nballoon_deflate 1024\n"}, (4718592 - 1024) * 4096),
        ({"proc/vmstat": "balloon_inflate 1\nballoon_deflate 5\n"}, 0),
        ({"proc/vmstat": "balloon_inflate 1\n"}, None),
    ],
)
def test_the_balloon_is_counted_by_what_went_in_and_came_out(tmp_path, files, size_bytes):
    """Kernels before 6.16 have no line for it in meminfo."""
    assert probe_memory(changed(tmp_path, "laptop-nvme", files)).held.balloon_bytes == size_bytes


def test_the_balloon_s_own_line_comes_first(tmp_path):
    """Linux 6.16 writes it into meminfo."""
    text = captured("laptop-nvme").read_text("proc/meminfo") + "Balloon:        18874368 kB\n"
    files = {"proc/meminfo": text, "proc/vmstat": "balloon_inflate 1\nballoon_deflate 0\n"}
    assert probe_memory(changed(tmp_path, "laptop-nvme", files)).held.balloon_bytes == 18 * 1024 * MIB


def bound(folder, *, allowed, nodes="0-1\n", node=NODE, policy=""):
    """Probe a laptop as if it had two memory nodes."""
    status = captured("laptop-nvme").read_text("proc/self/status")
    status = status.replace("Mems_allowed_list:\t0", f"Mems_allowed_list:\t{allowed}")
    base = "sys/devices/system/node"
    nodes_files = {f"{base}/node{number}/meminfo": node.replace("Node 0", f"Node {number}") for number in (0, 1)}
    root = changed(folder, "laptop-nvme", {"proc/self/status": status, f"{base}/has_memory": nodes, **nodes_files})
    root.answers = {**root.answers, "memory_policy": {"bind": policy}}
    return probe_memory(root)


def test_a_cpuset_that_leaves_one_node_leaves_its_memory(tmp_path):
    """MemAvailable counts nodes that the kernel will not give pages of to this process."""
    found = bound(tmp_path, allowed="0")
    kib = 4915522 + 4683032 + 3831572 + 506166
    assert found.bound == BoundMemory(
        nodes=(0,),
        machine_nodes_count=2,
        by_policy=False,
        total_bytes=16274100 * 2**10,
        available_bytes=kib * 2**10,
    )
    assert found.working_available_bytes == kib * 2**10


@pytest.mark.parametrize(("allowed", "nodes"), [("0-1", "0-1\n"), ("0", "0\n"), ("0-1", "0\n"), ("7", "0-1\n")])
def test_who_may_use_all_nodes_is_not_bound(tmp_path, allowed, nodes):
    """Also where the mask names nodes that are not there, or none that is."""
    assert bound(tmp_path, allowed=allowed, nodes=nodes).bound is None


@pytest.mark.parametrize(
    ("allowed", "policy", "nodes", "by_policy"),
    [("0-1", "1", (1,), True), ("0-1", "0-1", None, None), ("0", "1", (0,), False), ("0", "0", (0,), False)],
)
def test_a_policy_narrows_what_a_cpuset_leaves(tmp_path, allowed, policy, nodes, by_policy):
    """numactl --membind; one of nodes that the cpuset forbids is what the kernel makes of it: the cpuset's."""
    found = bound(tmp_path, allowed=allowed, policy=policy).bound
    assert (found and (found.nodes, found.by_policy)) == (nodes and (nodes, by_policy))


@pytest.mark.skipif(not Path("/proc/self/numa_maps").exists(), reason="needs a kernel with CONFIG_NUMA")
def test_this_machine_s_kernel_writes_a_policy_as_it_is_read():
    """A child that binds itself to node 0, which every machine has, reads its own numa_maps."""
    code = (
        "import ctypes; mask = ctypes.c_ulong(1); numbers = {'x86_64': 238, 'aarch64': 237}; import os\n"
        "done = ctypes.CDLL(None).syscall(numbers[os.uname().machine], 2, ctypes.byref(mask), 64)\n"
        "print(done); print(open('/proc/self/numa_maps').read(), end='')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    answer, _, text = done.stdout.partition("\n")
    if answer != "0":
        pytest.skip("this process may not set a memory policy")
    assert parse_policy(text) == "0"


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("56159f646000 bind:0-1,3 file=/usr/bin/python3 mapped=1\n", "0-1,3"),
        ("56159f646000 bind=static:1 anon=1\n", "1"),
        ("56159f646000 default file=/usr/bin/python3\n7f0000000000 bind:1 anon=1\n", ""),
        ("56159f646000 prefer:1 anon=1\n", ""),
        ("", ""),
    ],
)
def test_only_a_binding_of_the_whole_process_counts(text, nodes):
    """A preference yields, and a map may have a policy of its own."""
    assert parse_policy(text) == nodes


def test_a_node_that_does_not_tell_its_sizes_is_an_error():
    """The line that is missing is named."""
    with pytest.raises(ParseError, match=r"Active\(file\): /n: found 'no such line'"):
        parse_node(NODE.replace("Active(file)", "Active(it)").replace("Inactive(it)", "Inactive(file)"), where="n")


@pytest.mark.parametrize(("mode", "left"), [("0\n", None), ("1\n", None), ("2\n", (24662704 - 10206348) * 2**10)])
def test_what_may_still_be_promised_counts_under_strict_accounting_only(tmp_path, mode, left):
    """In the other modes the kernel promises without counting."""
    assert probe_commit_left(changed(tmp_path, "laptop-nvme", {"proc/sys/vm/overcommit_memory": mode})) == left


def test_strict_accounting_without_its_numbers_is_an_error(tmp_path):
    """A limit that is not told may be anything."""
    text = captured("laptop-nvme").read_text("proc/meminfo").replace("Committed_AS", "Other")
    with pytest.raises(ParseError, match="commit limit: /proc/meminfo"):
        probe_commit_left(
            changed(tmp_path, "laptop-nvme", {"proc/meminfo": text, "proc/sys/vm/overcommit_memory": "2\n"})
        )


@given(st.text())
def test_any_text_is_read_or_refused(text):
    """No text makes a parser raise anything else."""
    assert all(size >= 0 for size in parse_arcstats(text).values())
    assert (parse_balloon(text) or 0) >= 0
    with contextlib.suppress(ParseError):
        assert parse_node(text, where="n")["MemTotal"] >= 0


def test_what_is_not_told_holds_nothing():
    """ZFS without its least, or no ZFS at all."""
    none = HeldMemory(
        programs_bytes=None,
        huge_pages_bytes=None,
        shared_bytes=None,
        balloon_bytes=None,
        zfs_cache_bytes=None,
        zfs_cache_least_bytes=None,
    )
    assert none.yielding_bytes == 0
