"""What is known about memory, its limits, swap and locked memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamworthy.facts.storage import BlockLeaf


@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupMemory:
    """One control group on the way from this process to the root."""

    path: str  # "/a/b" as the hierarchy's mount shows it
    version: int  # 1 or 2
    limit_bytes: int | None  # None: no limit here
    high_bytes: int | None  # None: no throttling limit here, or version 1
    usage_bytes: int | None  # page cache included; None: the hierarchy's root, which does not count
    inactive_file_bytes: int | None  # None: as above
    active_file_bytes: int | None  # None: as above

    @property
    def free_bytes(self) -> int | None:
        """What may still be allocated here: limit - usage + page cache, which is given back under pressure.

        None without a limit or when usage is not told. Locked pages are on the unevictable list and count as used.
        """
        if self.limit_bytes is None or self.usage_bytes is None or self.inactive_file_bytes is None:
            return None
        cache = self.inactive_file_bytes + (self.active_file_bytes or 0)
        return max(0, self.limit_bytes - max(0, self.usage_bytes - cache))


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldMemory:
    """What holds memory of the whole machine, by kind. Each is None where the kernel does not tell it."""

    programs_bytes: int | None  # anonymous pages
    huge_pages_bytes: int | None  # the whole pool, used or not
    shared_bytes: int | None  # files in tmpfs, and shared memory
    balloon_bytes: int | None  # given back to the hypervisor
    zfs_cache_bytes: int | None  # ARC, which MemAvailable does not count; None also without ZFS
    zfs_cache_least_bytes: int | None  # what it never shrinks below

    @property
    def yielding_bytes(self) -> int:
        """What ZFS's cache gives back under pressure, slowly."""
        return max(0, (self.zfs_cache_bytes or 0) - (self.zfs_cache_least_bytes or 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundMemory:
    """The memory nodes that a cpuset or a policy leaves to this process, where they are not all of the machine's."""

    nodes: tuple[int, ...]
    machine_nodes_count: int
    by_policy: bool  # numactl --membind, which a child inherits; False: a cpuset alone
    total_bytes: int
    available_bytes: int  # free, page cache and slabs that can be given back


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFacts:
    """Memory of the machine and what control groups leave of it. Swap is not in any of these numbers."""

    total_bytes: int
    free_bytes: int
    page_cache_bytes: int | None  # None: macOS does not tell
    available_bytes: int | None  # None: Linux before 3.14
    groups: tuple[CgroupMemory, ...]  # leaf first
    groups_unknown: str  # why control groups are unknown; empty when they are known
    wsl: bool  # the total is then what Windows gives the guest
    held: HeldMemory | None  # None: macOS, and inside of LXCFS, whose meminfo is not the machine's
    bound: BoundMemory | None  # None: every node of the machine may be used

    @property
    def claimable_bytes(self) -> int | None:
        """The kernel's estimate of what is available, and what ZFS gives back besides. None: no estimate."""
        if self.available_bytes is None:
            return None
        given_back = self.held.yielding_bytes if self.held else 0
        return max(self.available_bytes, min(self.total_bytes, self.available_bytes + given_back))

    @property
    def limiting_group(self) -> CgroupMemory | None:
        """The group with the smallest limit, None when no group has one."""
        limited = [group for group in self.groups if group.limit_bytes is not None]
        return min(limited, key=lambda group: group.limit_bytes or 0, default=None)

    @property
    def tightest_group(self) -> CgroupMemory | None:
        """The group with the least left, None when no limited group tells."""
        limited = [group for group in self.groups if group.free_bytes is not None]
        return min(limited, key=lambda group: group.free_bytes or 0, default=None)

    @property
    def throttling_group(self) -> CgroupMemory | None:
        """The group with the smallest memory.high, None when no group has one."""
        limited = [group for group in self.groups if group.high_bytes is not None]
        return min(limited, key=lambda group: group.high_bytes or 0, default=None)

    @property
    def working_available_bytes(self) -> int | None:
        """What the engine's process may still allocate: of the whole machine, or less where a group or node has less.

        None when the kernel tells no estimate, or a limited group tells no usage.
        """
        limited = [group.free_bytes for group in self.groups if group.limit_bytes is not None]
        limited += [self.bound.available_bytes] if self.bound else []
        known = [left for left in (self.claimable_bytes, *limited) if left is not None]
        return min(known) if len(known) == len(limited) + 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapDevice:
    """One line of /proc/swaps with what is under it."""

    path: str  # "/dev/dm-1", "/swapfile"
    kind: str  # "partition", "file", "zram"; "virtual": LXCFS's share of the host's swap
    size_bytes: int
    used_bytes: int
    priority: int
    leaves: tuple[BlockLeaf, ...]  # whole disks beneath; empty for zram, or when leaves_unknown
    leaves_unknown: str  # why the disks are unknown; empty when they are known
    network: str | None  # the kind of remote filesystem that keeps the file; None: none does


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapFacts:
    """Where memory is written to when it runs short."""

    devices: tuple[SwapDevice, ...]
    swappiness: int | None  # 0-200, of this process's control group (version 1) or the system; None: not told
    model_disks: tuple[str, ...] | None  # major:minor of the whole disks under the model; None: no model, or unknown
    wsl: bool  # swap is then a file of Windows, made anew at each start

    @property
    def size_bytes(self) -> int:
        """Size of all swap, zram included."""
        return sum(device.size_bytes for device in self.devices)

    @property
    def cushion_bytes(self) -> int:
        """Size of swap outside memory: zram keeps its pages in the memory that is short."""
        return sum(device.size_bytes for device in self.devices if device.kind != "zram")

    @property
    def used_bytes(self) -> int:
        """Bytes in swap, zram included."""
        return sum(device.used_bytes for device in self.devices)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemlockFacts:
    """How much memory a process may lock; a child process inherits it."""

    process: str  # "self" or a process id
    soft_bytes: int | None  # None: unlimited
    hard_bytes: int | None  # None: unlimited
    capable: bool  # CAP_IPC_LOCK in the first user namespace: no limit applies
    confined: bool  # in a user namespace of its own, as in a rootless container, where the capability does not count
    locked_bytes: int | None  # VmLck; None: macOS
    need_bytes: int  # what the tier locks; 0: nothing

    @property
    def enough(self) -> bool:
        """Tell whether limit or capability allow what the tier locks."""
        return self.capable or self.soft_bytes is None or self.soft_bytes >= self.need_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressSpaceFacts:
    """How much address space a process may map, and what the engine maps; a child process inherits the limit."""

    process: str  # "self" or a process id
    soft_bytes: int | None  # None: unlimited
    hard_bytes: int | None  # None: unlimited
    shards_bytes: int | None  # of the whole set; None: no shard tells it
    engine_bytes: int | None  # KV cache, buffers, the engine and its threads' stacks; None: ``engine_unknown`` says why
    engine_unknown: str
    commit_left_bytes: int | None  # CommitLimit less Committed_AS; None: vm.overcommit_memory is not 2
