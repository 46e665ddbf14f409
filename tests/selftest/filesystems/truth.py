"""What is true of each way to keep a model, written by hand from what is mounted, and what the gates have to say.

``pass``, ``FAIL``, ``advice``, ``error`` and ``n/a`` are the gate's words. ``below``: as the disk of the scratch folder
is judged, which is another one on each machine; the gates of link and health go with that of temperature. ``unread``:
an error where only random reads could settle what the disk is, since none reaches it; else as below. ``any``: it says
what others do to the disk at this moment. ``map`` is what a shared map of a page gives, and the gate of mapping says
the same.

A streaming tier judges, which accepts ext4 and xfs, and btrfs with advice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamworthy.verdict import Word
from tests.selftest.filesystems import layouts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_TABLE = """
layout              filesystem network rotational transport mount_options free_space used_share quiet temperature map
local folder        pass       pass    below      below     pass          below      below      any   below       maps
ext4                pass       pass    below      below     pass          pass       pass       any   below       maps
xfs                 pass       pass    below      below     pass          pass       pass       any   below       maps
btrfs subvolume     advice     pass    below      below     pass          pass       pass       any   below       maps
btrfs zstd          FAIL       pass    below      below     pass          pass       pass       any   below       maps
ext4, cached loop   pass       pass    unread     unread    pass          pass       pass       any   below       maps
ext4, strictatime   pass       pass    below      below     advice        pass       pass       any   below       maps
ext4, nearly full   pass       pass    below      below     pass          FAIL       FAIL       any   below       maps
ext4, ro            pass       pass    below      below     pass          n/a        n/a        any   below       maps
ext4, ro, a hole    pass       pass    below      below     pass          FAIL       n/a        any   below       maps
image in memory     FAIL       pass    n/a        FAIL      pass          pass       pass       n/a   n/a         maps
image behind FUSE   FAIL       FAIL    n/a        FAIL      pass          pass       pass       n/a   n/a         maps
tmpfs               FAIL       pass    n/a        FAIL      pass          pass       pass       n/a   n/a         maps
squashfs            FAIL       pass    below      below     pass          n/a        n/a        any   below       maps
erofs               FAIL       pass    below      below     pass          n/a        n/a        any   below       maps
overlay over ext4   pass       pass    below      below     pass          below      below      any   below       maps
overlay twice       pass       pass    below      below     pass          below      below      any   below       maps
overlay over memory FAIL       pass    n/a        FAIL      pass          below      below      n/a   n/a         maps
FAT32, fusefat      FAIL       FAIL    n/a        FAIL      pass          pass       pass       n/a   n/a         maps
exFAT, exfat-fuse   FAIL       pass    unread     unread    pass          pass       pass       any   below       maps
NTFS, ntfs-3g       FAIL       pass    unread     unread    pass          pass       pass       any   below       maps
bindfs              FAIL       FAIL    n/a        FAIL      pass          below      below      n/a   n/a         maps
bindfs, direct_io   FAIL       FAIL    n/a        FAIL      pass          below      below      n/a   n/a         ENODEV
bind mount          pass       pass    below      below     pass          below      below      any   below       maps
mount over a mount  pass       pass    below      below     pass          pass       pass       any   below       maps
mount over parent   pass       pass    below      below     pass          pass       pass       any   below       maps
linked folder       pass       pass    below      below     pass          pass       pass       any   below       maps
Hugging Face cache  pass       pass    below      below     pass          pass       pass       any   below       maps
two volumes         FAIL       pass    below      FAIL      pass          pass       pass       any   below       maps
"""

# All shards are there and sound, whatever they lie on; read-ahead is large beside the small sample's slabs.
_EVERYWHERE = {
    "storage.read_ahead": "advice",
    "shards.names": "pass",
    "shards.complete": "pass",
    "shards.headers": "pass",
    "shards.sizes": "n/a",
    "integrity.extents": "pass",
    "integrity.tensors": "pass",
    "integrity.metadata_leaks": "pass",
    "integrity.hashes": "pass",
}
_LAST_SHARD_MISSING = {"shards.complete": "FAIL", "integrity.hashes": "FAIL"}

LAYOUTS = {
    "local folder": layouts.home,
    "ext4": layouts.on("ext4"),
    "xfs": layouts.on("xfs"),
    "btrfs subvolume": layouts.subvolume,
    "btrfs zstd": layouts.on("btrfs", "-o", "compress-force=zstd"),
    "ext4, cached loop": layouts.on("ext4", direct=False),
    "ext4, strictatime": layouts.on("ext4", "-o", "strictatime"),
    "ext4, nearly full": layouts.nearly_full,
    "ext4, ro": layouts.read_only,
    "ext4, ro, a hole": lambda site: layouts.read_only(site, whole=False),
    "image in memory": layouts.image_in_memory,
    "image behind FUSE": layouts.image_behind_fuse,
    "tmpfs": layouts.memory,
    "squashfs": layouts.packed("squashfs", "mksquashfs", "{source}", "{image}", "-quiet", "-no-progress"),
    "erofs": layouts.packed("erofs", "mkfs.erofs", "-zlz4", "{image}", "{source}"),
    "overlay over ext4": layouts.overlaid(layouts.on("ext4")),
    "overlay twice": layouts.overlaid(layouts.overlaid(layouts.on("ext4")), "more layers"),
    "overlay over memory": layouts.overlaid(layouts.memory),
    "FAT32, fusefat": layouts.fat,
    "exFAT, exfat-fuse": layouts.on("exfat-fuse"),
    "NTFS, ntfs-3g": layouts.on("ntfs-3g"),
    "bindfs": layouts.relayed(),
    "bindfs, direct_io": layouts.relayed("-o", "direct_io"),
    "bind mount": layouts.bound,
    "mount over a mount": layouts.stacked,
    "mount over parent": layouts.buried,
    "linked folder": layouts.linked_folder,
    "Hugging Face cache": layouts.hub_cache,
    "two volumes": layouts.two_volumes,
}

# What a cause has to name; {} is the path of the layout's folder.
_FUSE = "FUSE passes each read through a process"
CAUSES = {
    "btrfs subvolume": {"filesystem": "btrfs at {}/home: btrfs verifies a checksum"},
    "btrfs zstd": {"filesystem": "of 6 shards compressed: each page fault decompresses"},
    "ext4, cached loop": {"rotational": "the loop device's file is in the page cache"},
    "ext4, strictatime": {"mount_options": "without noatime or relatime every read dirties its inode"},
    "ext4, nearly full": {"free_space": "lacks", "used_share": "full: nearly full, files fragment"},
    "ext4, ro": {"free_space": "holds its part of the set whole", "used_share": "fills no further"},
    "ext4, ro, a hole": {"free_space": "is mounted read-only: the 4.2 MiB that are missing cannot be put there"},
    "image in memory": {
        "filesystem": "tmpfs at {}/memory, beneath {}/memory/ext4",
        "transport": "tmpfs at {}/memory, beneath {}/memory/ext4 is no drive",
        "quiet": "no block device of the model is known",
        "temperature": "no drive of this machine lies below the shards",
    },
    "image behind FUSE": {"filesystem": _FUSE, "network": _FUSE, "transport": "{}/relayed, beneath"},
    "tmpfs": {"filesystem": "tmpfs keeps files in RAM", "rotational": "no disk of this machine", "transport": "tmpfs"},
    "squashfs": {"filesystem": "each page fault decompresses a block", "used_share": "read-only filesystem"},
    "erofs": {"filesystem": "each page fault decompresses a cluster", "free_space": "nothing is written there"},
    "overlay over memory": {
        "filesystem": "tmpfs at {}/memory, beneath {}/layers/merged",
        "transport": "tmpfs at {}/memory",
    },
    "FAT32, fusefat": {"filesystem": _FUSE, "network": "fuse.fusefat at {}/fat: FUSE", "transport": "no drive"},
    "exFAT, exfat-fuse": {"filesystem": "disk driver in user space", "rotational": "a process serves them"},
    "NTFS, ntfs-3g": {"filesystem": "disk driver in user space", "rotational": "a process serves them"},
    "bindfs": {"filesystem": _FUSE, "network": f"at {{}}/relayed: {_FUSE}", "transport": "no drive of this machine"},
    "bindfs, direct_io": {
        "filesystem": "with direct_io a shared mapping fails with 'No such device'",
        "mappable": "relayed refuses a shared mapping (ENODEV)",
    },
    "two volumes": {"filesystem": "tmpfs at {}/memory: tmpfs keeps files in RAM", "transport": "tmpfs at {}/memory"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One layout: how it is built, the word of each gate, what its causes name, and what a map gives."""

    name: str
    build: Callable
    words: Mapping[str, str]
    causes: Mapping[str, str]
    mapped: str

    @property
    def folder(self):
        """The name of the folder that it is built in."""
        return self.name.replace(",", "").replace(" ", "-")

    def names_cause(self, gate, found, folder):
        """Tell whether a verdict's cause names what it has to; one that this machine's disk decides need not."""
        asked = gate in self.causes and (self.words[gate] != "unread" or found.word is Word.ERROR)
        return not asked or self.causes[gate].replace("{}", str(folder)) in found.cause


def _row(line, columns):
    name, *cells = line.rsplit(maxsplit=len(columns) - 1)  # a name may hold blanks
    *nouns, _ = columns[1:]
    words = {f"storage.{noun}": word for noun, word in zip(nouns, cells[:-1], strict=True)}
    words["storage.mappable"] = "pass" if cells[-1] == "maps" else "FAIL"
    words["storage.read_limit"] = "n/a" if words["storage.temperature"] == "n/a" else "pass"
    words |= dict.fromkeys(("storage.link", "storage.health"), words["storage.temperature"])
    exceptions = _LAST_SHARD_MISSING if name == "ext4, ro, a hole" else {}
    return Row(
        name=name,
        build=LAYOUTS[name],
        words={**words, **_EVERYWHERE, **exceptions},
        causes={f"storage.{noun}": text for noun, text in CAUSES.get(name, {}).items()},
        mapped=cells[-1],
    )


def _rows():
    head, *lines = _TABLE.strip().splitlines()
    return tuple(_row(line, head.split()) for line in lines)


TRUTH = _rows()
