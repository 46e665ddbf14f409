"""Mounts of this process, and which of them holds a path.

Source: /proc/self/mountinfo, proc_pid_mountinfo(5), since Linux 2.6.26; mnt_id in /proc/self/fdinfo since 3.15.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from streamworthy.errors import ParseError, ProbeError
from streamworthy.facts.storage import Mount
from streamworthy.probes.captured import tables, take

if TYPE_CHECKING:
    from streamworthy.probes.sysroot import Sysroot

MOUNTINFO = "proc/self/mountinfo"
_ESCAPE = re.compile(r"\\([0-7]{3})")
_NUMBER = re.compile(r"[0-9]{1,10}")
_DEVICE_NUMBER = re.compile(r"[0-9]{1,10}:[0-9]{1,10}")
_SHAPE = "'ID PARENT MAJOR:MINOR ROOT MOUNTPOINT OPTIONS [TAG ...] - TYPE SOURCE SUPEROPTIONS'"

# Filesystems whose reads leave this kernel: over a network, or through a hypervisor's or a guest's relay.
_REMOTE = frozenset(
    (
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "davfs",
        "drvfs",
        "fakeowner",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "orangefs",
        "panfs",
        "prl_fs",
        "pvfs2",
        "smb2",
        "smb3",
        "smbfs",
        "vboxsf",
        "virtiofs",
        "vmhgfs",
        "wekafs",
    )
)
# FUSE drivers that fetch what they give; others relay what lies on this machine.
_FETCHING = frozenset(
    (
        "blobfuse",
        "blobfuse2",
        "ceph",
        "ceph-fuse",
        "curlftpfs",
        "davfs2",
        "gcsfuse",
        "glusterfs",
        "goofys",
        "httpfs",
        "juicefs",
        "mount-s3",
        "mountpoint-s3",
        "quobyte",
        "rclone",
        "s3fs",
        "seaweedfs",
        "smbnetfs",
        "sshfs",
    )
)

MEMORY_FILESYSTEMS = frozenset(("tmpfs", "ramfs", "hugetlbfs"))


def has_no_disk(mount: Mount) -> bool:
    """Tell whether no disk of this machine lies below a mount: it is memory, remote or relayed."""
    return mount.network is not None or mount.fstype in MEMORY_FILESYSTEMS


def probe_mounts(root: Sysroot) -> tuple[Mount, ...]:
    """Read all mounts in the kernel's order."""
    return parse_mountinfo(root.read_text(MOUNTINFO))


def parse_mountinfo(text: str) -> tuple[Mount, ...]:
    """Parse mountinfo; ParseError names the first line that is not of the documented shape."""
    # not splitlines(): the kernel escapes no line end but newline, so a folder's name may hold all others
    lines = text.removesuffix("\n").split("\n") if text else ()
    return tuple(_parse_line(line, number) for number, line in enumerate(lines, 1))


def _parse_line(line: str, number: int) -> Mount:
    # 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
    before, separator, after = line.partition(" - ")
    head = before.split(" ")
    tail = after.split(" ")
    ids_are_numbers = all(_NUMBER.fullmatch(part) for part in head[:2])
    if not separator or len(head) < 6 or len(tail) < 3 or not ids_are_numbers or not _DEVICE_NUMBER.fullmatch(head[2]):  # noqa: PLR2004
        raise ParseError("mount", where=f"/{MOUNTINFO}", line=number, found=line, expected=_SHAPE)
    return Mount(
        mount_id=int(head[0]),
        parent_id=int(head[1]),
        major_minor=head[2],
        root=unescape(head[3]),
        mount_point=unescape(head[4]),
        options=tuple(head[5].split(",")),
        fstype=tail[0],
        source=unescape(tail[1]),
        super_options=tuple(unescape(option) for option in " ".join(tail[2:]).split(",")),
        network=network_kind(tail[0]),
    )


def unescape(text: str) -> str:
    r"""Undo the kernel's octal escapes of blank, tab, newline, backslash and #: ``my\040models`` is ``my models``."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), text)


def holds(mount_point: str, path: str) -> bool:
    """Tell whether an absolute path is at or below a mount point."""
    return mount_point in ("/", path) or path.startswith(mount_point.rstrip("/") + "/")


def mount_of(mounts: tuple[Mount, ...], real_path: str) -> Mount:
    """Find the mount that holds a path whose links are followed, as the kernel walks: from mount to mount upon it.

    Where parents are missing, as in a chroot, the longest prefix and the last of stacked mounts. ProbeError when no
    mount holds the path.
    """
    holding = [mount for mount in mounts if holds(mount.mount_point, real_path)]
    if not holding:
        raise ProbeError(f"{real_path}: no line of /{MOUNTINFO} holds this path (a chroot?)")
    return _walk(holding) or max(reversed(holding), key=lambda mount: len(mount.mount_point))


def _walk(holding: list[Mount]) -> Mount | None:
    """Go up from the lowest mount; one that a later mount covers, /mnt/models below /mnt, is never come to."""
    ids = {mount.mount_id for mount in holding}
    lowest = [mount for mount in holding if mount.parent_id not in ids]
    if len(lowest) != 1:
        return None
    found = lowest[0]
    for _ in holding:  # a mount more than once would be a circle
        upon = [mount for mount in holding if mount.parent_id == found.mount_id and mount is not found]
        found = min(reversed(upon), key=lambda mount: len(mount.mount_point), default=found)
    return found


def probe_mount_of(root: Sysroot, mounts: tuple[Mount, ...], real_path: str) -> Mount:
    """Find the mount that holds a path; on this machine the kernel's own answer decides where it gives one.

    What mountinfo tells can be wrong where parents are missing; the mnt_id of an open file cannot.
    """
    mount_id = _ask_kernel(root, real_path) if root.live else _ask_capture(root, real_path)
    by_id = {mount.mount_id: mount for mount in mounts}
    if mount_id not in by_id:
        return mount_of(mounts, real_path)
    if by_id[mount_id] != mount_of(mounts, real_path):  # a capture needs the answer only where it surprises
        root.note("mount_of", {"path": real_path, "mount_id": mount_id})
    return by_id[mount_id]


def _ask_capture(root: Sysroot, real_path: str) -> int | None:
    for answer in tables(root, "mount_of"):
        if take(root, "mount_of", answer, "path", str) == real_path:
            return take(root, "mount_of", answer, "mount_id", int)
    return None


def _ask_kernel(root: Sysroot, real_path: str) -> int | None:
    try:
        descriptor = os.open(real_path, getattr(os, "O_PATH", 0) | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        text = root.read_optional(f"proc/self/fdinfo/{descriptor}") or ""
    finally:
        os.close(descriptor)
    match = re.search(r"^mnt_id:\s*([0-9]+)$", text, flags=re.MULTILINE)
    return int(match[1]) if match else None


def is_far(mount: Mount) -> bool:
    """Tell whether reads go to another system: over a network, or through a hypervisor's or a guest's relay.

    A FUSE driver that gives its type no name may give one to the source: ``mountpoint-s3``, ``quobyte@10.0.0.1``.
    """
    named = re.split("[@:#/]", mount.source, maxsplit=1)[0] if mount.fstype == "fuse" else ""
    return mount.fstype in _REMOTE or (named or mount.fstype.removeprefix("fuse.")) in _FETCHING


def network_kind(fstype: str) -> str | None:
    """Name the kind of a remote or relayed filesystem; None for a local one.

    FUSE counts: each read is relayed through a user-space process. ``fuseblk`` does not: it is a driver for a local
    disk, judged by its type.
    """
    if fstype in _REMOTE or fstype == "fuse" or fstype.startswith("fuse."):
        return fstype
    return None
