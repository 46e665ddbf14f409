"""What a hypervisor's disk tells of its medium, and what can be changed about it where the hypervisor runs. Pure.

Linux assumes a spinning disk until a device says otherwise, and virtio-blk has no field to say it in (virtio 1.3,
5.2). The flag is then neither evidence nor a fault: it may be ignored, or be told right by the hypervisor.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamworthy.facts.storage import BlockLeaf

_IGNORE = "# ignore the flag: without word of the medium Linux says 1 of every disk, and no reader here goes by it"
_SCSI = "scsi or sata with rotation_rate=1 (libvirt: <target bus='scsi' rotation_rate='1'/>; Proxmox: scsi0: ...,ssd=1)"
_ON_THE_HYPERVISOR = {
    "blk": f"# or on the hypervisor: virtio-blk cannot tell it, so attach the disk as {_SCSI}",
    "scsi": f"# or on the hypervisor: attach the disk as {_SCSI}",
    "vmware": '# or on the hypervisor, in the .vmx while the machine is off: scsi0:0.virtualSSD = "1"',
    "virtualbox": "# or on the hypervisor: VBoxManage storageattach VM --storagectl SATA --port 0 --nonrotational on",
    "hyperv": "# Hyper-V and WSL2 have nothing to set for it",
    "xen": "# Xen has nothing to set for it",
}
_WHOLE_DRIVE = "or pass an NVMe drive through to this machine (its PCI function)"
_FASTER = {
    "blk": f"# on the hypervisor: keep the disk's image raw, on NVMe, with aio=io_uring, {_WHOLE_DRIVE}",
    "vmware": f"# on the hypervisor: keep the disk in a datastore on NVMe, {_WHOLE_DRIVE}",
    "virtualbox": "# on the host: keep the disk's image on NVMe, of fixed size",
    "hyperv": "# in Windows: keep the .vhdx on an NVMe drive, of fixed size, or give this machine a whole NVMe drive "
    r"(WSL2: wsl.exe --mount '\\.\PHYSICALDRIVE1' --bare)",
    "xen": f"# on the hypervisor: keep the disk on NVMe, {_WHOLE_DRIVE}",
    "cloud": "# in the cloud: take a machine with NVMe drives of its own, or a volume with more operations a second",
}
_FASTER["scsi"] = _FASTER["blk"]
_CLOUDS = re.compile(r"Elastic Block|nvme_card-pd|NVMe Accelerator|BlockVolume|PersistentDisk")


def about_flag(leaf: BlockLeaf) -> tuple[str, ...]:
    """Say what to do about a virtual disk's flag that calls it spinning; nothing where it does not."""
    if not leaf.rotational or not _kind(leaf):
        return ()
    told = _ON_THE_HYPERVISOR.get(_kind(leaf))
    return (_IGNORE, told) if told else (_IGNORE,)


def faster(leaf: BlockLeaf) -> tuple[str, ...]:
    """Say how a virtual disk is made to answer in time; empty for other disks."""
    line = _FASTER.get(_kind(leaf))
    return (line,) if line else ()


def _kind(leaf: BlockLeaf) -> str:
    model = leaf.model or ""
    if _CLOUDS.search(model):
        return "cloud"
    if leaf.transport == "virtio":
        return "blk" if leaf.name.startswith("vd") else "scsi"
    if leaf.transport == "emulated":
        return "vmware" if "VMware" in model else "virtualbox" if "VBOX" in model else "scsi" if "QEMU" in model else ""
    return leaf.transport if leaf.transport in _ON_THE_HYPERVISOR else ""
