"""What it costs to read memory of another node: one node's cores read memory of their own, then of all nodes in turn.

The page cache lies on whichever node read a page, so an engine on several nodes reads remote memory all the time.
Sources: set_mempolicy(2), get_mempolicy(2), Documentation/admin-guide/mm/numa_memory_policy.rst.
"""

from __future__ import annotations

import ctypes
import os
import platform
import threading
from typing import TYPE_CHECKING, Any

from streamworthy.bench.passes import in_order, read_passes
from streamworthy.errors import ProbeError
from streamworthy.facts.bandwidth import PlacedRates

if TYPE_CHECKING:
    from collections.abc import Collection

    from streamworthy.facts.bandwidth import MemoryNode, NumaFacts, ThreadRates

_CALLS = {"x86_64": (238, 239), "aarch64": (237, 236)}  # set_mempolicy, get_mempolicy: asm/unistd.h
_PREFERRED, _INTERLEAVE = 1, 3  # linux/mempolicy.h; MPOL_BIND would wake the OOM killer where a node is full
_NODE_OF_ADDRESS = 1 | 2  # MPOL_F_NODE, MPOL_F_ADDR
_MOST_NODES = 1024
_PROBES = 64
_PLACED_SHARE = 0.9
_libc = ctypes.CDLL(None, use_errno=True)


def measure_placed(numa: NumaFacts, *, allowed: Collection[int], size: int, passes: int) -> PlacedRates:
    """Read ``size`` bytes of near and of interleaved memory. ProbeError says why there is nothing to compare."""
    nodes = numa.nodes
    if nodes is None or len(nodes) < 2:  # noqa: PLR2004 - near and far take two
        raise ProbeError("this kernel tells no memory nodes" if nodes is None else "one memory node: none is far")
    return read_placed(nodes, allowed=allowed, size=size, passes=passes)


def read_placed(nodes: tuple[MemoryNode, ...], *, allowed: Collection[int], size: int, passes: int) -> PlacedRates:
    """Read with the first node that has cores for us. ProbeError when memory does not lie where it was asked for."""
    reader = next((node for node in nodes if set(node.cpus) & set(allowed)), None)
    if reader is None:
        raise ProbeError("no memory node has a core that this process may use")
    cpus = frozenset(reader.cpus) & frozenset(allowed)
    every = frozenset(node.number for node in nodes)

    def rates(mode: int, wanted: frozenset[int]) -> ThreadRates:
        words = _allocate(size, mode, wanted, cpus)
        return read_passes(in_order(words, len(cpus)), size=size, passes=passes, cpus=cpus)

    return PlacedRates(
        node=reader.number,
        local=rates(_PREFERRED, frozenset({reader.number})),
        interleaved=rates(_INTERLEAVE, every),
    )


def _allocate(size: int, mode: int, wanted: frozenset[int], cpus: frozenset[int]) -> Any:  # noqa: ANN401 - an array
    """Fill an array in a thread of its own, whose policy and affinity end with it; verify where its pages lie."""
    made: list[Any] = []
    failed: list[ProbeError] = []

    def work() -> None:
        import numpy as np

        try:
            os.sched_setaffinity(0, cpus)
            _set_policy(mode, wanted)
            words = np.ones(size // 8, dtype=np.uint64)
            _verify(words, wanted)
        except (ProbeError, OSError) as error:
            failed.append(error if isinstance(error, ProbeError) else ProbeError(f"affinity: {error.strerror}"))
        else:
            made.append(words)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return made[0]


def _calls() -> tuple[int, int]:
    found = _CALLS.get(platform.machine())
    if found is None or not hasattr(os, "sched_setaffinity"):
        raise ProbeError(f"memory is not placed on {platform.machine()}, only on Linux on {' and '.join(_CALLS)}")
    return found


def _set_policy(mode: int, nodes: frozenset[int]) -> None:
    bits = 8 * ctypes.sizeof(ctypes.c_ulong)
    mask = (ctypes.c_ulong * (_MOST_NODES // bits))()
    for node in nodes:
        mask[node // bits] |= 1 << node % bits
    if _libc.syscall(ctypes.c_long(_calls()[0]), mode, mask, ctypes.c_ulong(_MOST_NODES + 1)) != 0:
        raise ProbeError(f"set_mempolicy: {os.strerror(ctypes.get_errno())} (containers forbid it)")


def _verify(words: Any, wanted: frozenset[int]) -> None:  # noqa: ANN401 - an array
    step = len(words) // _PROBES * 8
    found = [node_of(words.ctypes.data + number * step) for number in range(_PROBES)]
    if set(found) < wanted or sum(node in wanted for node in found) < _PLACED_SHARE * _PROBES:
        raise ProbeError(f"memory was asked on nodes {sorted(wanted)} and lies on {sorted(set(found))}: a node is full")


def node_of(address: int) -> int:
    """Tell on which memory node the page at an address lies. ProbeError where the kernel does not tell."""
    node = ctypes.c_int(-1)
    arguments = (
        ctypes.byref(node),
        None,
        ctypes.c_ulong(0),
        ctypes.c_void_p(address),
        ctypes.c_ulong(_NODE_OF_ADDRESS),
    )
    if _libc.syscall(ctypes.c_long(_calls()[1]), *arguments) != 0:
        raise ProbeError(f"get_mempolicy: {os.strerror(ctypes.get_errno())}")
    return node.value
