"""What stands between a disk and a model, made in a virtual machine by the tools and the kernel that people use.

layouts.txt has the lines of shell of each; they end with a filesystem at /m.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).parent
_SECTION = re.compile(r"^=== (.+?)( \(filled\))?\n(.*?)(?:^--- undo\n(.*?))?(?=^=== |\Z)", re.MULTILINE | re.DOTALL)
MOUNT = Path("/m")
SHARE = "models"  # a folder of this machine that the virtual one reaches through 9p

# What a kernel sees of QEMU's devices is what it sees of real ones of that kind.
DEVICES = (
    "pcie-root-port,id=port0,chassis=1,slot=1 nvme,{drive},serial=first,bus=port0",
    "pcie-root-port,id=port1,chassis=2,slot=2 nvme,{drive},serial=second,bus=port1",
    "nvme,{drive},serial=large,logical_block_size=4096,physical_block_size=4096",
    (
        "nvme-subsys,id=two,nqn=two nvme,serial=paths,subsys=two nvme,serial=paths,subsys=two,id=path"
        " nvme-ns,{drive},bus=path,shared=on"
    ),
    "virtio-blk-pci,{drive},serial=virtual",
    "virtio-scsi-pci,id=scsi scsi-hd,{drive},bus=scsi.0,serial=flash,rotation_rate=1",
    "scsi-hd,{drive},bus=scsi.0,serial=untold",
    "scsi-hd,{drive},bus=scsi.0,serial=spinning,rotation_rate=7200",
    "ide-hd,{drive},bus=ide.0,serial=sata,rotation_rate=1",
    "qemu-xhci,id=usb usb-storage,{drive},bus=usb.0,serial=stick",
    "sdhci-pci,id=slot sd-card,{drive}",
)
BEGIN = """
for module in nvme ext4 dm-mod virtio_blk virtio_scsi sd_mod ahci xhci_pci usb-storage uas sdhci-pci mmc_block; do
    modprobe $module
done
busybox ip link set lo up
sleep 3
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How it is made and taken away; ``filled``: the shards are there already."""

    name: str
    up: str
    down: str
    filled: bool


def _layouts():
    functions = (_FOLDER / "functions.sh").read_text()
    for name, filled, up, down in _SECTION.findall((_FOLDER / "layouts.txt").read_text()):
        yield Layout(name=name, up=functions + up, down=functions + down, filled=bool(filled))


LAYOUTS = {layout.name: layout for layout in _layouts()}
