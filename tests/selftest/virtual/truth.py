"""What the gates have to say of each layout, by a streaming tier, and what their cause or measured value has to name.

All drives are made up by a hypervisor: random reads settle what they are, and none is asked for its health or its link.
Drives of NVMe alone tell a temperature.
"""

from __future__ import annotations

_TABLE = """
layout               filesystem network rotational transport link health temperature read_limit mappable
NVMe                 pass       pass    pass       pass      n/a  n/a    pass        pass       pass
NVMe, 4 KiB sectors  pass       pass    pass       pass      n/a  n/a    pass        pass       pass
NVMe, two paths      pass       pass    pass       pass      n/a  n/a    pass        pass       pass
NVMe, partition      pass       pass    pass       pass      n/a  n/a    pass        pass       pass
NVMe over TCP        pass       pass    pass       FAIL      n/a  n/a    n/a         pass       pass
virtio-blk           pass       pass    pass       pass      n/a  n/a    n/a         pass       pass
SCSI, flash          pass       pass    pass       pass      n/a  n/a    n/a         pass       pass
SCSI, untold         pass       pass    pass       pass      n/a  n/a    n/a         pass       pass
SCSI, spinning       pass       pass    pass       pass      n/a  n/a    n/a         pass       pass
SATA, flash          pass       pass    pass       pass      n/a  n/a    n/a         pass       pass
USB                  pass       pass    pass       FAIL      n/a  n/a    advice      pass       pass
SD card              pass       pass    pass       FAIL      n/a  n/a    advice      pass       pass
RAID 0               pass       pass    pass       pass      n/a  n/a    pass        pass       pass
RAID 1               pass       pass    pass       pass      n/a  pass   pass        pass       pass
RAID 1, write-mostly pass       pass    pass       pass      n/a  pass   pass        pass       pass
RAID 10              pass       pass    pass       pass      n/a  pass   pass        pass       pass
RAID 5, degraded     pass       pass    pass       pass      n/a  advice pass        pass       pass
RAID, linear         pass       pass    pass       pass      n/a  n/a    pass        pass       pass
LVM                  pass       pass    pass       pass      n/a  n/a    pass        pass       pass
LVM, striped         pass       pass    pass       pass      n/a  n/a    pass        pass       pass
LVM, mirrored        pass       pass    pass       pass      n/a  n/a    pass        pass       pass
LVM, thin            pass       pass    pass       pass      n/a  n/a    pass        pass       pass
LVM, cached          pass       pass    pass       pass      n/a  n/a    pass        pass       pass
LUKS                 pass       pass    pass       pass      n/a  n/a    pass        pass       pass
LUKS, no queues      pass       pass    pass       pass      n/a  n/a    pass        pass       pass
LUKS on LVM          pass       pass    pass       pass      n/a  n/a    pass        pass       pass
bcache               pass       pass    pass       pass      n/a  n/a    pass        pass       pass
mapping by hand      pass       pass    pass       pass      n/a  n/a    pass        pass       pass
dm-integrity         pass       pass    pass       pass      n/a  n/a    pass        pass       pass
btrfs on two         advice     pass    pass       pass      n/a  n/a    pass        pass       pass
f2fs                 advice     pass    pass       pass      n/a  n/a    pass        pass       pass
exFAT                FAIL       pass    pass       pass      n/a  n/a    pass        pass       pass
FAT32                FAIL       pass    pass       pass      n/a  n/a    pass        pass       pass
9p                   FAIL       FAIL    n/a        FAIL      n/a  n/a    n/a         n/a        pass
9p, mmap             FAIL       FAIL    n/a        FAIL      n/a  n/a    n/a         n/a        pass
9p, loose            FAIL       FAIL    n/a        FAIL      n/a  n/a    n/a         n/a        pass
NFS                  FAIL       FAIL    n/a        FAIL      n/a  n/a    n/a         n/a        pass
compressed memory    pass       pass    pass       FAIL      n/a  n/a    n/a         pass       pass
disk in memory       pass       pass    pass       FAIL      n/a  n/a    n/a         pass       pass
"""
# How many drives a model's reads are spread over, where it is not one.
DRIVES = {
    **dict.fromkeys(("RAID 0", "RAID 1", "RAID 10", "RAID 5, degraded", "RAID, linear"), 2),
    **dict.fromkeys(("LVM", "LVM, striped", "LVM, mirrored", "LVM, thin", "LVM, cached", "bcache", "btrfs on two"), 2),
    **dict.fromkeys(("9p", "9p, mmap", "9p, loose", "NFS"), 0),
}
NAMES = {
    "NVMe over TCP": ("storage.transport", "each read crosses a network"),
    "USB": ("storage.transport", "is attached by usb"),
    "SD card": ("storage.transport", "is attached by sd: SD cards"),
    "RAID 5, degraded": ("storage.health", "md0 (raid5) lacks 1 of its drives"),
    "9p": ("storage.network", "9p relays each read"),
    "NFS": ("storage.network", "NFS reads each page over the network"),
    "compressed memory": ("storage.transport", "a RAM disk takes the memory"),
    "disk in memory": ("storage.transport", "a RAM disk takes the memory"),
}


def _rows():
    head, *lines = _TABLE.strip().splitlines()
    nouns = head.split()[1:]
    for line in lines:
        name, *words = line.rsplit(maxsplit=len(nouns))
        yield name, dict(zip((f"storage.{noun}" for noun in nouns), words, strict=True))


TRUTH = dict(_rows())
