"""Settings of memory, processor, buses and disks that explain differences between runs, and are never judged.

Sources: Documentation/admin-guide/mm/ (multigen_lru, transhuge, zswap), admin-guide/sysctl/vm.rst,
ABI/stable/sysfs-block (queue/), ABI/testing/sysfs-bus-pci (link/), admin-guide/pm/cpuidle.rst, kernel-parameters.rst,
drivers/nvme/host/core.c (APST: default_ps_max_latency_us).
The queues of dm-crypt stand in its table, which takes root: ``dmsetup table``.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

from streamworthy.errors import ProbeError
from streamworthy.facts.settings import Setting, SettingsFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from streamworthy.probes.sysroot import Sysroot

CMDLINE = "proc/cmdline"
MICROCODE = "proc/cpuinfo microcode"
MGLRU = "sys/kernel/mm/lru_gen/enabled"
HUGE_PAGES = "sys/kernel/mm/transparent_hugepage/enabled"
ASPM_POLICY = "sys/module/pcie_aspm/parameters/policy"
APST = "sys/module/nvme_core/parameters/default_ps_max_latency_us"

_FILES = (
    MGLRU,
    "sys/kernel/mm/lru_gen/min_ttl_ms",
    HUGE_PAGES,
    "sys/kernel/mm/transparent_hugepage/defrag",
    "sys/kernel/mm/transparent_hugepage/shmem_enabled",
    "sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
    "sys/kernel/mm/transparent_hugepage/khugepaged/pages_to_scan",
    "sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs",
    "sys/kernel/mm/ksm/run",
    "sys/kernel/mm/numa/demotion_enabled",
    "sys/kernel/mm/swap/vma_ra_enabled",
    "sys/module/zswap/parameters/enabled",
    "sys/module/zswap/parameters/compressor",
    "sys/module/zswap/parameters/max_pool_percent",
    "sys/module/dm_crypt/parameters/max_read_size",
    APST,
    "sys/module/nvme_core/parameters/multipath",
    "sys/module/nvme/parameters/poll_queues",
    ASPM_POLICY,
    "sys/firmware/acpi/platform_profile",
    "sys/devices/system/clocksource/clocksource0/current_clocksource",
    "sys/devices/system/cpu/smt/control",
    "sys/devices/system/cpu/cpuidle/current_driver",
    "sys/devices/system/cpu/cpuidle/current_governor",
    "sys/devices/system/cpu/cpufreq/boost",
    "sys/devices/system/cpu/intel_pstate/no_turbo",
    "proc/sys/kernel/numa_balancing",
    "proc/sys/kernel/sched_autogroup_enabled",
)
_VM = (
    "swappiness", "dirty_ratio", "dirty_background_ratio", "dirty_bytes", "dirty_background_bytes",
    "vfs_cache_pressure", "min_free_kbytes", "watermark_scale_factor", "watermark_boost_factor", "page-cluster",
    "overcommit_memory", "overcommit_ratio", "compaction_proactiveness", "zone_reclaim_mode", "max_map_count",
    "laptop_mode", "nr_hugepages",
)  # fmt: skip
_WEAKNESSES = "sys/devices/system/cpu/vulnerabilities"
_QUEUE = (
    "scheduler", "max_sectors_kb", "max_hw_sectors_kb", "nr_requests", "rq_affinity", "nomerges", "read_ahead_kb",
    "wbt_lat_usec", "io_poll", "write_cache", "logical_block_size", "physical_block_size", "optimal_io_size",
)  # fmt: skip
# beside a disk on its way up to the bus: the controller's own, then those of the PCI functions above
_ABOVE = (
    "firmware_rev", "queue_count", "numa_node", "power_state", "power/control", "power/pm_qos_latency_tolerance_us",
    "d3cold_allowed", "link/l0s_aspm", "link/l1_aspm", "link/l1_1_aspm", "link/l1_2_aspm", "link/clkpm",
    "current_link_speed", "current_link_width", "max_link_speed", "max_link_width",
)  # fmt: skip
_CHOSEN = re.compile(r"\[([^\]]+)\]")
_KIND = re.compile(r"CRYPT-[A-Z0-9]+|[A-Za-z]+", re.ASCII)
_MOST_LETTERS = 300
# Parameters whose values are settings. Others name disks, hosts and addresses, and stay out.
_TELLING = re.compile(
    r"mitigations|nosmt|no_?spec\w*|spectre\w*|spec_store\w*|pti|nopti|retbleed|l1tf|mds|tsx|tsx_async_abort|mmio_stale_data"
    r"|gather_data_sampling|srso|reg_file_data_sampling|nvme(?:_core)?\.\w+|pcie_aspm(?:\.\w+)?|pci|iommu(?:\.\w+)?"
    r"|intel_iommu|amd_iommu|transparent_hugepage\w*|hugepages\w*|default_hugepagesz|numa(?:_balancing)?|lru_gen\w*"
    r"|zswap\.\w+|swapaccount|cgroup\w*|psi|mem|memmap|maxcpus|nr_cpus|isolcpus|nohz\w*|rcu_nocbs|irqaffinity|threadirqs"
    r"|preempt|idle|processor\.\w+|intel_idle\.\w+|cpuidle\w*\.\w+|intel_pstate|amd_pstate|cpufreq\.\w+|clocksource|tsc"
    r"|elevator|scsi_mod\.\w+|init_on_(?:alloc|free)|page_poison|slub_debug|page_reporting\.\w+|virtio\w*\.\w+"
)


def probe_settings(root: Sysroot, chains: Sequence[Sequence[str]]) -> SettingsFacts:
    """Read what there is. ``chains`` are the devices from each mounted one down to its disk (BlockLeaf.chain)."""
    names = [*_FILES, *(f"proc/sys/vm/{name}" for name in _VM)]
    names += [f"{_WEAKNESSES}/{name}" for name in _listed(root, _WEAKNESSES)]
    names += dict.fromkeys(chain.from_iterable(_of_devices(root, devices) for devices in chains))
    found = [
        *_read(root, "proc/cpuinfo", parse_microcode, shown=MICROCODE),
        *_read(root, CMDLINE, telling_parameters),
        *chain.from_iterable(_read(root, name) for name in names),
        *chain.from_iterable(_read(root, name, mapping_kind) for name in dict.fromkeys(_mappings(chains))),
    ]
    return SettingsFacts(settings=tuple(found))


def parse_choice(text: str) -> str:
    """Give the chosen word of ``always [madvise] never``, and any other text as it is, on one line."""
    chosen = _CHOSEN.search(text)
    return chosen[1] if chosen else " ".join(text.split())[:_MOST_LETTERS]


def parse_microcode(text: str) -> str:
    """Give each revision once: two of them are a machine that was patched in part. Empty on arm64."""
    return " ".join(dict.fromkeys(re.findall(r"^microcode\s*:\s*(0x[0-9a-f]{1,16})$", text, re.MULTILINE | re.ASCII)))


def mapping_kind(uuid: str) -> str:
    """Give what a device mapper's uuid begins with, and nothing that names the device: ``CRYPT-LUKS2``, ``LVM``."""
    found = _KIND.match(uuid)
    return found[0] if found else ""


def telling_parameters(text: str) -> str:
    """Keep those of the kernel's parameters that are settings; after ``--`` they are those of the first process."""
    words = text.partition(" -- ")[0].split()
    return " ".join(word for word in words if _TELLING.fullmatch(word.partition("=")[0]))


def _mappings(chains: Sequence[Sequence[str]]) -> Iterator[str]:
    mapped = (device for devices in chains for device in devices if device.startswith("dm-"))
    return (f"sys/class/block/{device}/dm/uuid" for device in mapped)


def _of_devices(root: Sysroot, devices: Sequence[str]) -> Iterator[str]:
    for device in devices:
        yield from (f"sys/class/block/{device}/queue/{name}" for name in _QUEUE)
    folder = root.resolve(f"sys/class/block/{devices[-1]}") or ""
    while folder := folder.rpartition("/")[0]:
        yield from (f"{folder}/{name}" for name in _ABOVE)


def _listed(root: Sysroot, folder: str) -> tuple[str, ...]:
    try:
        return root.names(folder)
    except ProbeError:
        return ()


def _read(
    root: Sysroot, name: str, parse: Callable[[str], str] = parse_choice, *, shown: str | None = None
) -> Iterable[Setting]:
    try:
        text = root.read_optional(name)
    except ProbeError:
        return (Setting(name=shown or name, value=None),)
    return () if text is None else (Setting(name=shown or name, value=parse(text)),)
