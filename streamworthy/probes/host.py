"""Which machine this is, and of which class: firmware tables, device tree, hypervisor flag, container marks.

Sources: /sys/class/dmi/id (SMBIOS 3.7 section 7.4 for chassis types), /sys/firmware/devicetree/base/model,
/proc/sys/kernel/osrelease (WSL kernels carry Microsoft's name), /proc/self/cgroup.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from streamworthy.facts.host import HostFacts
from streamworthy.probes.captured import optional_table
from streamworthy.probes.mountinfo import MOUNTINFO, parse_mountinfo

if TYPE_CHECKING:
    from streamworthy.facts.cpu import CpuFacts
    from streamworthy.probes.sysroot import Sysroot

_DMI = "sys/class/dmi/id"
_CHASSIS = {
    "desktop": (3, 4, 5, 6, 7, 13, 15, 16, 24, 35, 36),
    "laptop": (8, 9, 10, 11, 14, 30, 31, 32),
    "server": (17, 23, 25, 28, 29),
}
_HYPERVISORS = re.compile(
    r"QEMU|KVM|VMware|VirtualBox|innotek|Xen|Bochs|Parallels|bhyve|Amazon EC2|Google Compute Engine|OpenStack"
    r"|Virtual Machine|HVM domU|Apple Virtualization|Firecracker",
    re.IGNORECASE,
)
_CONTAINERS = re.compile(r"docker|kubepods|libpod|containerd|/lxc|crio-|machine\.slice|garden/")
_IMAGE_MARKS = (".dockerenv", "run/.containerenv")  # left behind in an image that was made into a VM's disk


def is_wsl(root: Sysroot) -> bool:
    """Tell whether the kernel is that of the Windows Subsystem for Linux."""
    return "microsoft" in (root.read_optional("proc/sys/kernel/osrelease") or "").lower()


def probe_host(root: Sysroot, *, cpu: CpuFacts, memory_total_bytes: int) -> HostFacts:
    """Learn what a report's head says about this machine."""
    return HostFacts(
        name=_name(root),
        machine_class=_machine_class(root, cpu),
        product=_product(root),
        cpu_model=cpu.model_name,
        memory_total_bytes=memory_total_bytes,
        kernel_release=(root.read_optional("proc/sys/kernel/osrelease") or "").strip(),
        system="Linux",
    )


def _name(root: Sysroot) -> str:
    if root.live:
        return (root.read_optional("proc/sys/kernel/hostname") or "localhost").strip()
    return str(optional_table(root, "identity").get("hostname", root.root.name))


def _machine_class(root: Sysroot, cpu: CpuFacts) -> str:
    if is_wsl(root):
        return "WSL"
    if _in_container(root):
        return "container"
    product = _product(root) or ""
    if cpu.hypervisor or _HYPERVISORS.search(product) or root.exists("sys/firmware/devicetree/base/hypervisor"):
        return "virtual machine"
    chassis = _dmi(root, "chassis_type")
    number = int(chassis) if chassis is not None and re.fullmatch(r"[0-9]{1,3}", chassis) else 0
    known = next((name for name, numbers in _CHASSIS.items() if number in numbers), None)
    return known or ("board" if _board(root) else "unknown")


def _in_container(root: Sysroot) -> bool:
    if _CONTAINERS.search(root.read_optional("proc/self/cgroup") or "") or root.exists("run/systemd/container"):
        return True
    first = [mount for mount in parse_mountinfo(root.read_optional(MOUNTINFO) or "") if mount.mount_point == "/"]
    layered = any(mount.fstype in ("overlay", "fuse.fuse-overlayfs") or mount.root != "/" for mount in first)
    return layered and any(root.exists(name) for name in _IMAGE_MARKS)


def _product(root: Sysroot) -> str | None:
    words = [word for word in (_dmi(root, "sys_vendor"), _dmi(root, "product_name")) if word]
    return " ".join(words) or _board(root)


def _board(root: Sysroot) -> str | None:
    return (root.read_optional("sys/firmware/devicetree/base/model") or "").strip("\0\n ") or None


def _dmi(root: Sysroot, name: str) -> str | None:
    return (root.read_optional(f"{_DMI}/{name}") or "").strip() or None
