"""What macOS tells through psutil and sysctl(8); the rest is a ProbeError with its reason.

Names: sysctl(3) of macOS, machdep.cpu.* and hw.*; psutil 6 and newer.
"""

from __future__ import annotations

import importlib
import os
import platform
import struct
import subprocess
from typing import TYPE_CHECKING, Any

from streamworthy.errors import ProbeError
from streamworthy.facts.cpu import CpuFacts
from streamworthy.facts.host import HostFacts
from streamworthy.facts.memory import MemlockFacts, MemoryFacts, SwapDevice, SwapFacts
from streamworthy.probes.cpu import spell_architecture

if TYPE_CHECKING:
    from collections.abc import Callable


def read_sysctl(name: str) -> str | None:
    """Ask sysctl for one value; None when it has none."""
    try:
        done = subprocess.run(["sysctl", "-n", name], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None


def psutil_or_reason() -> Any:  # noqa: ANN401 - psutil ships no types
    """Import psutil; ProbeError with the install line when it is not there."""
    try:
        return importlib.import_module("psutil")  # 20 ms that Linux does not need
    except ImportError as error:
        raise ProbeError(f"psutil cannot be imported: {error}", fix="pip install psutil") from error


def probe_cpu(sysctl: Callable[[str], str | None] = read_sysctl, uname: Callable[[], Any] = os.uname) -> CpuFacts:
    """Read processor and cores; macOS has neither affinity nor CPU quotas."""
    psutil = psutil_or_reason()
    cores = psutil.cpu_count(logical=False)
    return CpuFacts(
        architecture=spell_architecture(uname().machine),
        pointer_bits=struct.calcsize("P") * 8,
        model_name=sysctl("machdep.cpu.brand_string"),
        hypervisor=sysctl("kern.hv_vmm_present") == "1",
        flags=None,
        partial_flags=(),
        online_count=psutil.cpu_count(logical=True) or 1,
        allowed_count=None,
        physical_cores_count=cores,
        performance_cores_count=None,
        quota_cores=None,
        cores_unknown="" if cores else "psutil tells no physical cores",
    )


def probe_memory() -> MemoryFacts:
    """Read total and available memory; macOS has no control groups."""
    found = psutil_or_reason().virtual_memory()
    return MemoryFacts(
        total_bytes=found.total,
        free_bytes=found.free,
        page_cache_bytes=None,
        available_bytes=found.available,
        groups=(),
        groups_unknown="",
        wsl=False,
        held=None,
        bound=None,
    )


def probe_swap() -> SwapFacts:
    """Read swap's size and use. macOS makes its swap files as it needs them, on the system's volume."""
    found = psutil_or_reason().swap_memory()
    device = SwapDevice(
        path="/System/Volumes/VM",
        kind="file",
        size_bytes=found.total,
        used_bytes=found.used,
        priority=0,
        leaves=(),
        leaves_unknown="macOS tells no device of its swap files through psutil or sysctl",
        network=None,
    )
    return SwapFacts(devices=(device,) if found.total else (), swappiness=None, model_disks=None, wsl=False)


def probe_memlock(*, need_bytes: int, pid: str = "self") -> MemlockFacts:
    """Read what this process may lock; macOS tells it of no other one."""
    soft, hard = _limits("RLIMIT_MEMLOCK", "locked memory", pid)
    return MemlockFacts(
        process=pid,
        soft_bytes=soft,
        hard_bytes=hard,
        capable=False,
        confined=False,
        locked_bytes=None,
        need_bytes=need_bytes,
    )


def probe_address_limits(*, pid: str = "self") -> tuple[int | None, int | None]:
    """Read how much address space this process may map, soft and hard; macOS tells it of no other one."""
    return _limits("RLIMIT_AS", "address space", pid)


def _limits(name: str, what: str, pid: str) -> tuple[int | None, int | None]:
    if pid != "self":
        raise ProbeError(f"{what} of process {pid}: macOS tells a process its own limits only")
    import resource  # absent on other systems

    soft, hard = resource.getrlimit(getattr(resource, name))
    unlimited = resource.RLIM_INFINITY
    return None if soft == unlimited else soft, None if hard == unlimited else hard


def probe_host(sysctl: Callable[[str], str | None] = read_sysctl) -> HostFacts:
    """Learn what a report's head says about this Mac."""
    model = sysctl("hw.model")
    return HostFacts(
        name=platform.node(),
        machine_class="laptop" if "book" in (model or "").lower() else "desktop" if model else "unknown",
        product=f"Apple {model}" if model else None,
        cpu_model=sysctl("machdep.cpu.brand_string"),
        memory_total_bytes=psutil_or_reason().virtual_memory().total,
        kernel_release=platform.release(),
        system=platform.system(),
    )
