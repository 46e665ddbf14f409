"""Who holds the memory that is missing, and how it is had back. Pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from streamworthy.units import format_bytes

if TYPE_CHECKING:
    from streamworthy.facts.memory import BoundMemory, HeldMemory, MemoryFacts

_PROGRAMS = ("other programs hold the memory", ("ps -eo rss,pid,comm --sort=-rss | head", "end what is not needed"))


def why_held(memory: MemoryFacts, lacking_bytes: int) -> tuple[str, tuple[str, ...]]:
    """Name the largest holder, programs among them: where the kernel tells none, programs."""
    held = memory.held
    if held is None:
        return _PROGRAMS
    sizes = {
        "programs": held.programs_bytes or 0,
        "huge pages": held.huge_pages_bytes or 0,
        "shared": held.shared_bytes or 0,
        "balloon": held.balloon_bytes or 0,
        "zfs": held.zfs_cache_least_bytes or 0,
    }
    largest = max(sizes, key=lambda name: sizes[name])
    size = format_bytes(sizes[largest])
    if largest == "huge pages":
        return f"huge pages hold {size}, used or not", _HUGE_PAGES_FIX
    if largest == "shared":
        return f"files in memory (tmpfs, /dev/shm) and shared memory hold {size}", _SHARED_FIX
    if largest == "balloon":
        return _balloon(size)
    return (
        (f"ZFS keeps {size} for its cache at least", shrink_arc(held, lacking_bytes)) if largest == "zfs" else _PROGRAMS
    )


_HUGE_PAGES_FIX = (
    "grep Huge /proc/meminfo; grep . /sys/kernel/mm/hugepages/*/nr_hugepages  # which size, and how many are free",
    "sudo sysctl vm.nr_hugepages=0  # now, those that are free; 1 GiB pages by their own nr_hugepages",
    "# and take vm.nr_hugepages out of /etc/sysctl.d, hugepages= out of the kernel's command line",
)
_SHARED_FIX = (
    "df --human-readable --type=tmpfs; ls -lhS /dev/shm | head  # delete what is not needed",
    "ipcs --shmems --human",
)


def why_ballooned(memory: MemoryFacts, lacking_bytes: int) -> tuple[str, tuple[str, ...]] | None:
    """Say so where the hypervisor's balloon holds what is lacking of all memory; None where it does not."""
    balloon = memory.held.balloon_bytes if memory.held else None
    return _balloon(format_bytes(balloon)) if balloon and balloon >= lacking_bytes else None


def _balloon(size: str) -> tuple[str, tuple[str, ...]]:
    return f"the hypervisor has taken {size} back from this machine (balloon)", (
        "# on the hypervisor: raise the machine's least memory to its whole size, or switch ballooning off",
        "# libvirt: virsh setmem NAME SIZE; Proxmox: qm set ID --balloon 0",
        "# VMware: reserve all guest memory; Hyper-V: dynamic memory off",
    )


def shrink_arc(held: HeldMemory, lacking_bytes: int) -> tuple[str, ...]:
    """Give the lines that limit ZFS's cache so that what is lacking is left to others."""
    most = max(held.zfs_cache_least_bytes or 0, (held.zfs_cache_bytes or 0) - lacking_bytes, 2**26)
    most = math.ceil(most / 2**20) * 2**20
    return (
        f"echo {most} | sudo tee /sys/module/zfs/parameters/zfs_arc_max  # now",
        f"echo 'options zfs zfs_arc_max={most}' | sudo tee /etc/modprobe.d/zfs-arc.conf  # at each start",
    )


_BOUND_FIX = (
    "grep Mems_allowed_list /proc/self/status",
    "container: docker run without --cpuset-mems; service: AllowedMemoryNodes= in the unit",
    "pod: the kubelet's memory manager (Static) binds it; batch job: ask for the whole node",
)


def why_bound(bound: BoundMemory) -> tuple[str, tuple[str, ...]]:
    """Say which nodes a cpuset or a policy leaves, and where that is set."""
    nodes, size = ", ".join(map(str, bound.nodes)), format_bytes(bound.total_bytes)
    if bound.by_policy:
        cause = f"this process is bound to memory node {nodes} of {bound.machine_nodes_count}, with {size} in all"
        return cause, ("numactl --show", "start without numactl --membind, or with --interleave=all or --preferred")
    cause = f"a cpuset leaves this process memory node {nodes} of {bound.machine_nodes_count}, with {size} in all"
    return cause, _BOUND_FIX


def held_evidence(memory: MemoryFacts) -> tuple[str, ...]:
    """Write what holds memory, where it is told and not nothing."""
    if memory.held is None:
        return ()
    sizes = {
        "programs": memory.held.programs_bytes,
        "huge_pages": memory.held.huge_pages_bytes,
        "tmpfs_and_shared": memory.held.shared_bytes,
        "balloon": memory.held.balloon_bytes,
        "zfs_cache": memory.held.zfs_cache_bytes,
    }
    return tuple(f"{name}={format_bytes(size)}" for name, size in sizes.items() if size)
