"""Memory of a wanted node, read by that node's cores."""

from __future__ import annotations

import os

import pytest

from streamworthy.bench.placed import measure_placed, node_of, read_placed
from streamworthy.errors import ProbeError
from streamworthy.facts.bandwidth import MemoryNode, NumaFacts
from streamworthy.probes.numa import probe_numa
from streamworthy.probes.sysroot import Sysroot

SIZE = 2**24


def numa(*nodes):
    """Give facts with these nodes."""
    return NumaFacts(nodes=nodes or None, zone_reclaim_mode=0, numa_balancing=0)


def node(number, *cpus):
    """Give one node."""
    return MemoryNode(number=number, cpus=cpus)


def real_nodes():
    """Give this machine's nodes, or skip."""
    nodes = probe_numa(Sysroot()).nodes
    if not nodes:
        pytest.skip("this kernel has no memory nodes")
    return nodes


@pytest.mark.parametrize(
    ("facts", "reason"),
    [(numa(), "this kernel tells no memory nodes"), (numa(node(0, 0, 1)), "one memory node: none is far")],
)
def test_without_a_second_node_there_is_nothing_to_compare(facts, reason):
    """The reason is kept beside the rate."""
    with pytest.raises(ProbeError, match=reason):
        measure_placed(facts, allowed=(0, 1), size=SIZE, passes=1)


def test_nodes_whose_cores_are_not_ours_are_not_read():
    """A cpuset can leave a process cores without memory of their own."""
    with pytest.raises(ProbeError, match="no memory node has a core that this process may use"):
        measure_placed(numa(node(0), node(1, 6, 7)), allowed=(0, 1), size=SIZE, passes=1)


def test_a_place_that_does_not_exist_is_refused():
    """The kernel says so; nothing is measured elsewhere and called local."""
    allowed = os.sched_getaffinity(0)
    with pytest.raises(ProbeError, match="set_mempolicy: "):
        measure_placed(numa(node(1000, *allowed), node(1001)), allowed=allowed, size=SIZE, passes=1)


def test_memory_of_a_real_node_is_read_by_its_cores():
    """Placement is verified page by page; affinity and policy end with the threads that had them."""
    before, nodes = os.sched_getaffinity(0), real_nodes()
    try:
        found = read_placed(nodes, allowed=before, size=SIZE, passes=2)
    except ProbeError as error:
        if "set_mempolicy" in error.message:
            pytest.skip(error.message)
        raise
    assert found.node in {node.number for node in nodes}
    assert all(
        1e8 < rate < 1e12 for rate in found.local.rates_bytes_per_second + found.interleaved.rates_bytes_per_second
    )
    assert os.sched_getaffinity(0) == before


def test_an_address_has_a_node():
    """An address without memory has none."""
    import numpy as np

    words = np.ones(2**16, dtype=np.uint64)
    numbers = {node.number for node in real_nodes()}
    try:
        found = node_of(words.ctypes.data)
    except ProbeError as error:
        pytest.skip(error.message)
    assert found in numbers
    with pytest.raises(ProbeError, match="get_mempolicy: Bad address"):
        node_of(1)


def test_memory_that_lies_elsewhere_is_no_measurement():
    """The kernel takes a wish for nodes of which one exists, and fulfils it there alone."""
    allowed, nodes = os.sched_getaffinity(0), real_nodes()
    if len(nodes) > 1:
        pytest.skip("this machine has more than one memory node")
    with pytest.raises(ProbeError, match=r"asked on nodes \[0, 9\] and lies on \[0\]: a node is full|set_mempolicy"):
        read_placed((*nodes, node(9)), allowed=allowed, size=SIZE, passes=1)
