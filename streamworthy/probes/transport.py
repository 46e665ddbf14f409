"""How a disk is attached, read off its place in the device tree.

Source: sysfs device paths, and the attributes of SCSI (vendor, model, proc_name), NVMe (model, transport) and MMC
(type) devices. The path is used because the kernel makes it from the real bus: a bridge cannot dress it up.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamworthy.probes.sysroot import Sysroot

# Made up by a hypervisor, a controller or a remote target: the medium is not passed on to this kernel.
HIDING = frozenset(
    (
        "virtio",
        "vmware",
        "hyperv",
        "xen",
        "emulated",
        "raid",
        "iscsi",
        "fc",
        "nvme-fabrics",
        "nbd",
        "rbd",
        "loop",
        "unknown",
    )
)

_BY_PATH = (  # first match wins
    (re.compile(r"/usb[0-9]+/"), "usb"),
    (re.compile(r"/VMBUS:[0-9a-f]+/|/MSFT[0-9]+:[0-9a-f]+/"), "hyperv"),
    (re.compile(r"/virtio[0-9]+/"), "virtio"),
    (re.compile(r"/vbd-[0-9]+/"), "xen"),
    (re.compile(r"/session[0-9]+/"), "iscsi"),
    (re.compile(r"/rport-[0-9:-]+/"), "fc"),
    (re.compile(r"/ndbus[0-9]+/"), "pmem"),
    (re.compile(r"/virtual/block/nbd[0-9]+$"), "nbd"),
    (re.compile(r"/virtual/block/z?ram[0-9]+$"), "ram"),
    (re.compile(r"/virtual/block/loop[0-9]+$"), "loop"),
    (re.compile(r"/rbd[0-9]+$"), "rbd"),
)
_EMULATED = re.compile(r"QEMU|VBOX|Virtual|BHYVE|bhyve|SPDK|Elastic Block|nvme_card-pd|NVMe Accelerator")
_LOGICAL_DRIVE = re.compile(r"LOGICAL VOLUME|PERC|RAID|^MR[0-9]", re.IGNORECASE)
_SAS_DRIVERS = frozenset(("mpt2sas", "mpt3sas", "mpi3mr", "hpsa", "smartpqi", "isci", "megaraid_sas", "pm80xx"))
_RAID_DRIVERS = frozenset(("aacraid", "arcmsr", "3w-9xxx", "3w-sas"))
# "NVMe" is what tri-mode controllers (mpt3sas, mpi3mr, megaraid_sas) call the vendor of an NVMe drive behind them
_RAID_VENDORS = frozenset(("3ware", "AMCC", "Adaptec", "ASR", "Areca", "NVMe"))


def probe_transport(root: Sysroot, folder: str) -> str:
    """Name the transport of the disk whose folder below sys/devices is given; BlockLeaf lists the words."""
    if "/nvme" in folder:  # before the buses: Hyper-V hangs drives that it passes through below VMBus
        return _nvme(root, folder)
    for pattern, word in _BY_PATH:
        if pattern.search(folder):
            return word
    if "/mmc_host/" in folder:
        return {"MMC": "emmc", "SD": "sd"}.get(_attribute(root, f"{folder}/device/type"), "unknown")
    return _scsi(root, folder) if "/target" in folder else "unknown"


def flags_are_evidence(transport: str, *, rotational: bool | None) -> bool:
    """Tell whether queue/rotational says something about the medium.

    USB bridges often hide the page that says "no rotation": behind USB 1 means nothing, 0 means flash.
    """
    return transport not in HIDING and rotational is not None and not (transport == "usb" and rotational)


def _nvme(root: Sysroot, folder: str) -> str:
    device = f"{folder}/device"
    if _EMULATED.search(_attribute(root, f"{device}/model")):
        return "emulated"
    # A drive that can have several controllers hangs below nvme-subsystem, which links to them.
    controllers = [f"{device}/{name}" for name in root.names(device) if re.fullmatch(r"nvme[0-9]+", name)]
    ways = {_attribute(root, f"{place}/transport") for place in (device, *controllers)} - {""}
    return "nvme" if ways <= {"pcie", "apple-nvme"} else "nvme-fabrics"


def _scsi(root: Sysroot, folder: str) -> str:
    vendor, model = (_attribute(root, f"{folder}/device/{name}") for name in ("vendor", "model"))
    driver = _scsi_driver(root, folder)
    if vendor == "VMware" or driver == "vmw_pvscsi":
        return "vmware"
    if _EMULATED.search(f"{vendor} {model}"):
        return "emulated"
    if vendor == "ATA" or re.search(r"/ata[0-9]+/", folder):
        return "sata"
    # megaraid_sas shows logical drives on channel 2 and above, drives passed through below
    logical = driver == "megaraid_sas" and re.search(r"/target[0-9]+:[2-9]:", folder)
    if logical or _LOGICAL_DRIVE.search(model) or vendor in _RAID_VENDORS or driver in _RAID_DRIVERS:
        return "raid"
    if driver.startswith("ufs"):
        return "ufs"
    return "sas" if driver in _SAS_DRIVERS or "/end_device-" in folder else "unknown"


def _scsi_driver(root: Sysroot, folder: str) -> str:
    host = re.match(r"(.*/(host[0-9]+))/", folder)
    return _attribute(root, f"{host[1]}/scsi_host/{host[2]}/proc_name") if host else ""


def _attribute(root: Sysroot, name: str) -> str:
    return (root.read_optional(name) or "").strip()
