"""Transports, read off device paths as kernels write them."""

from __future__ import annotations

import pytest

from streamworthy.probes.transport import flags_are_evidence, probe_transport
from tests.selftest.probes.trees import tree

PCI = "sys/devices/pci0000:00"
TARGET = "target0:0:0/0:0:0:0"


def scsi(base, **attributes):
    """Give a SCSI disk's folder below a host, and its attributes' files."""
    driver = attributes.pop("proc_name", None)
    files = {f"{base}/host0/{TARGET}/{key}": text for key, text in attributes.items()}
    if driver:
        files[f"{base}/host0/scsi_host/host0/proc_name"] = driver
    return f"{base}/host0/{TARGET}/block/sda", files


@pytest.mark.parametrize(
    ("attributes", "word"),
    [
        ({"model": "Samsung SSD 990 PRO 2TB", "transport": "pcie"}, "nvme"),
        ({"model": "Samsung SSD 990 PRO 2TB"}, "nvme"),
        ({"model": "APPLE SSD AP0512Q", "transport": "apple-nvme"}, "nvme"),
        ({"model": "Linux", "transport": "tcp"}, "nvme-fabrics"),
        ({"model": "Amazon EC2 NVMe Instance Storage", "transport": "pcie"}, "nvme"),
        ({"model": "Amazon Elastic Block Store", "transport": "pcie"}, "emulated"),
        ({"model": "QEMU NVMe Ctrl", "transport": "pcie"}, "emulated"),
        ({"model": "VMware Virtual NVMe Disk", "transport": "pcie"}, "emulated"),
        ({"model": "ORCL-VBOX-NVME-VER12", "transport": "pcie"}, "emulated"),
        ({"model": "bhyve-NVMe", "transport": "pcie"}, "emulated"),
        ({"model": "SPDK bdev Controller", "transport": "pcie"}, "emulated"),
        ({"model": "MSFT NVMe Accelerator v1.0", "transport": "pcie"}, "emulated"),
        ({"model": "Microsoft NVMe Direct Disk v2", "transport": "pcie"}, "nvme"),
    ],
)
def test_an_nvme_name_is_not_always_a_drive_on_pcie(tmp_path, attributes, word):
    """Fabrics and drives that a hypervisor or a cloud makes up are told apart."""
    folder = f"{PCI}/0000:00:06.0/nvme/nvme0"
    files = {f"{folder}/{key}": text.ljust(40) for key, text in attributes.items()}
    root = tree(tmp_path, files=files, links={f"{folder}/nvme0n1/device": folder})
    assert probe_transport(root, f"{folder}/nvme0n1") == word


@pytest.mark.parametrize(("transport", "word"), [("pcie", "nvme"), ("tcp", "nvme-fabrics")])
def test_a_multipath_nvme_drive_is_known_by_its_controllers(tmp_path, transport, word):
    """Below nvme-subsystem the head has no bus of its own; the subsystem links to the controllers."""
    head = "sys/devices/virtual/nvme-subsystem/nvme-subsys0"
    controller = f"{PCI}/0000:65:00.0/nvme/nvme0"
    files = {f"{head}/model": "KCD61LUL1T92", f"{controller}/transport": transport}
    links = {f"{head}/nvme0": controller, f"{head}/nvme0n1/device": head}
    assert probe_transport(tree(tmp_path, files=files, links=links), f"{head}/nvme0n1") == word


@pytest.mark.parametrize(
    ("base", "attributes", "word"),
    [
        (f"{PCI}/0000:00:17.0/ata1", {"vendor": "ATA", "model": "CT500MX500SSD1", "proc_name": "ahci"}, "sata"),
        (f"{PCI}/0000:00:17.0/ata5", {"vendor": "HL-DT-ST", "model": "DVDRAM"}, "sata"),
        (f"{PCI}/0000:00:1f.2/ata1", {"vendor": "ATA", "model": "QEMU HARDDISK"}, "emulated"),
        (f"{PCI}/0000:00:0d.0/ata3", {"vendor": "ATA", "model": "VBOX HARDDISK"}, "emulated"),
        (f"{PCI}/0000:00:02.0/ata1", {"vendor": "ATA", "model": "BHYVE SATA DISK", "proc_name": "ahci"}, "emulated"),
        (f"{PCI}/0000:c1:00.0", {"vendor": "NVMe", "model": "Dell Ent NVMe v2", "proc_name": "mpi3mr"}, "raid"),
        (f"{PCI}/0000:03:00.0/host1/port-1:0/end_device-1:0", {"vendor": "SEAGATE", "model": "ST4000NM0025"}, "sas"),
        (f"{PCI}/0000:03:00.0", {"vendor": "ATA", "model": "INTEL SSDSC2KB96", "proc_name": "mpt3sas"}, "sata"),
        (f"{PCI}/0000:03:00.0", {"vendor": "SEAGATE", "model": "ST4000NM0025", "proc_name": "mpt3sas"}, "sas"),
        (f"{PCI}/0000:03:00.0", {"vendor": "HP", "model": "LOGICAL VOLUME", "proc_name": "hpsa"}, "raid"),
        (f"{PCI}/0000:03:00.0", {"vendor": "DELL", "model": "PERC H730 Mini", "proc_name": "megaraid_sas"}, "raid"),
        (f"{PCI}/0000:03:00.0", {"vendor": "ASR", "model": "models", "proc_name": "aacraid"}, "raid"),
        (f"{PCI}/0000:03:00.0", {"vendor": "VMware", "model": "Virtual disk", "proc_name": "vmw_pvscsi"}, "vmware"),
        (f"{PCI}/0000:00:05.0/virtio2", {"vendor": "QEMU", "model": "QEMU HARDDISK"}, "virtio"),
        (
            f"{PCI}/0000:00:14.0/usb2/2-1/2-1:1.0",
            {"vendor": "Realtek", "model": "RTL9210 NVME", "proc_name": "uas"},
            "usb",
        ),
        ("sys/devices/platform/host3/session1", {"vendor": "LIO-ORG", "model": "disk"}, "iscsi"),
        (
            "sys/devices/platform/soc/1d84000.ufshc",
            {"vendor": "SAMSUNG", "model": "KLUEG8", "proc_name": "ufshcd"},
            "ufs",
        ),
        (
            "sys/devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00/fd1d",
            {"vendor": "Msft", "model": "Virtual Disk"},
            "hyperv",
        ),
        (f"{PCI}/0000:09:00.0", {"vendor": "ASR8805", "model": "LogicalDrv 0", "proc_name": "aacraid"}, "raid"),
        (f"{PCI}/0000:09:00.0", {"vendor": "LSI", "model": "9750-4i DISK", "proc_name": "3w-sas"}, "raid"),
        ("sys/devices/pci0000:00/0000:09:00.0", {"vendor": "WHO", "model": "KNOWS"}, "unknown"),
    ],
)
def test_scsi_disks_are_told_apart_by_path_vendor_and_driver(tmp_path, base, attributes, word):
    """The kernel calls them all sd; the path says what carries them."""
    folder, files = scsi(base, **attributes)
    root = tree(tmp_path, files=files, links={f"{folder}/device": f"{base}/host0/{TARGET}"})
    assert probe_transport(root, folder) == word


def test_a_raid_controller_s_logical_drive_and_a_drive_passed_through_differ(tmp_path):
    """megaraid_sas shows logical drives on channel 2 whatever they are called, single drives on channel 0."""
    base = f"{PCI}/0000:03:00.0/host0"
    files = {f"{base}/scsi_host/host0/proc_name": "megaraid_sas"}
    links = {}
    for channel in (0, 2):
        device = f"{base}/target0:{channel}:0/0:{channel}:0:0"
        files |= {f"{device}/vendor": "LENOVO", f"{device}/model": "X"}
        links[f"{device}/block/sda/device"] = device
    root = tree(tmp_path, files=files, links=links)
    words = [probe_transport(root, f"{base}/target0:{channel}:0/0:{channel}:0:0/block/sda") for channel in (0, 2)]
    assert words == ["sas", "raid"]


@pytest.mark.parametrize(("kind", "word"), [("MMC", "emmc"), ("SD", "sd"), ("SDIO", "unknown")])
def test_cards_are_told_apart_by_their_type(tmp_path, kind, word):
    """EMMC and SD share driver and name."""
    card = "sys/devices/platform/fe2e0000.mmc/mmc_host/mmc0/mmc0:0001"
    links = {f"{card}/block/mmcblk0/device": card}
    root = tree(tmp_path, files={f"{card}/type": f"{kind}\n"}, links=links)
    assert probe_transport(root, f"{card}/block/mmcblk0") == word


@pytest.mark.parametrize(
    ("folder", "word"),
    [
        (f"{PCI}/0000:00:02.0/virtio1/block/vda", "virtio"),
        ("sys/devices/platform/a003e00.virtio_mmio/virtio3/block/vda", "virtio"),
        ("sys/devices/vbd-51712/block/xvda", "xen"),
        ("sys/devices/virtual/block/nbd0", "nbd"),
        ("sys/devices/virtual/block/zram0", "ram"),
        ("sys/devices/virtual/block/ram3", "ram"),
        ("sys/devices/virtual/block/loop7", "loop"),
        ("sys/devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0012:00/ndbus0/region0/namespace0.0/block/pmem0", "pmem"),
        ("sys/devices/rbd/0/block/rbd0", "rbd"),
        ("sys/devices/virtual/block/drbd0", "unknown"),
    ],
)
def test_disks_without_attributes_are_known_by_their_path(tmp_path, folder, word):
    """Virtio disks have no model file; that must not matter."""
    assert probe_transport(tree(tmp_path), folder) == word


@pytest.mark.parametrize(
    ("transport", "rotational", "evidence"),
    [
        ("nvme", False, True),
        ("sata", True, True),
        ("sata", None, False),
        ("virtio", True, False),
        ("virtio", False, False),
        ("raid", True, False),
        ("hyperv", True, False),
        ("usb", False, True),
        ("usb", True, False),
        ("unknown", False, False),
    ],
)
def test_flags_count_only_where_the_medium_is_passed_on(transport, rotational, evidence):
    """Behind USB "not spinning" is passed on, "spinning" is what the kernel assumes."""
    assert flags_are_evidence(transport, rotational=rotational) is evidence


def test_an_nvme_drive_passed_through_by_hyperv_is_a_drive(tmp_path):
    """Azure hangs whole drives below VMBus: the bus is made up, the drive is not (colibri#1384)."""
    bus = "sys/devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/MSFT1000:00/00000001-7870-47b5-8203-907d12ca697e"
    folder = f"{bus}/pci7870:00/7870:00:00.0/nvme/nvme1"
    files = {f"{folder}/model": "Microsoft NVMe Direct Disk v2", f"{folder}/transport": "pcie"}
    root = tree(tmp_path, files=files, links={f"{folder}/nvme1n1/device": folder})
    assert probe_transport(root, f"{folder}/nvme1n1") == "nvme"
