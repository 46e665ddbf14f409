"""Numbers of block devices: by the names that people and mountinfo use for them, and of the filesystems on them.

Sources: /sys/class/block/NAME/dev, dm/name; /sys/fs/btrfs/UUID/devices since Linux 3.14;
/sys/fs/bcachefs/UUID/dev-N/block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.errors import ProbeError

if TYPE_CHECKING:
    from streamworthy.facts.storage import Mount
    from streamworthy.probes.sysroot import Sysroot

_BTRFS = "sys/fs/btrfs"
_BCACHEFS = "sys/fs/bcachefs"


def device_of_name(root: Sysroot, name: str) -> str:
    """Give a device's number: ``sda2``, ``/dev/sda2``, ``/dev/mapper/vg-home``, ``/dev/vg/home`` -> ``"8:2"``.

    ProbeError when sysfs has no such device. udev's other links are followed on this machine only.
    """
    for candidate in _kernel_names(root, name):
        text = root.read_optional(f"sys/class/block/{candidate}/dev")
        if text is not None:
            return text.strip()
    raise ProbeError(f"{name}: no such block device below /sys/class/block", fix="ls -l /sys/class/block")


def _kernel_names(root: Sysroot, name: str) -> tuple[str, ...]:
    real = root.resolve(name.lstrip("/")) if name.startswith("/dev/") else None  # udev's links
    path = f"/{real}" if real else name
    short = path.removeprefix("/dev/")
    mapped = _mapped_name(short)
    found = (device for device in root.names("sys/class/block") if device.startswith("dm-"))
    dm = (device for device in found if _text(root, f"sys/class/block/{device}/dm/name") == mapped)
    return (short.replace("/", "!"), *dm)  # sysfs writes cciss/c0d0 as cciss!c0d0


def _mapped_name(short: str) -> str:
    # device mapper joins volume group and volume with "-", a "-" within either is doubled
    if short.startswith("mapper/"):
        return short.removeprefix("mapper/")
    return "-".join(part.replace("-", "--") for part in short.split("/"))


def _text(root: Sysroot, name: str) -> str:
    return (root.read_optional(name) or "").strip()


def devices_of_mount(root: Sysroot, mount: Mount) -> tuple[str, ...]:
    """Give the numbers of all block devices that a mount's filesystem spans; none where it has none.

    An anonymous number (major 0) says nothing; a source below /dev does, as on btrfs, bcachefs and FUSE disk drivers.
    ProbeError when sysfs does not know a device that the source names.
    """
    if not mount.major_minor.startswith("0:"):
        return (mount.major_minor,)
    source = mount.source.partition("[")[0]  # findmnt appends "[/subvolume]"
    if not source.startswith("/dev/") or mount.fstype == "devtmpfs":
        return ()
    if mount.fstype == "btrfs":
        return _btrfs(root, source)
    return _bcachefs(root, source) if mount.fstype == "bcachefs" else (device_of_name(root, source),)


def _btrfs(root: Sysroot, source: str) -> tuple[str, ...]:
    """Find the filesystem by one of its devices, which is all that the source names.

    A kernel that mounted it without an initramfs calls the device /dev/root, which is no device; a single filesystem
    is known without its name.
    """
    members = [numbers for each in root.names(_BTRFS) if (numbers := _btrfs_members(root, each))]
    try:
        device = device_of_name(root, source)
    except ProbeError:
        if source == "/dev/root" and len(members) == 1:
            return members[0]
        raise
    return next((numbers for numbers in members if device in numbers), (device,))


def _btrfs_members(root: Sysroot, filesystem: str) -> tuple[str, ...]:
    return tuple(device_of_name(root, name) for name in root.names(f"{_BTRFS}/{filesystem}/devices"))


def _bcachefs(root: Sysroot, source: str) -> tuple[str, ...]:
    """Read the members off the source, ``/dev/sda:/dev/sdb``, or find them by the UUID that stands there since 2026."""
    if not source.startswith("/dev/disk/by-uuid/"):
        return tuple(device_of_name(root, name) for name in source.split(":"))
    folder = f"{_BCACHEFS}/{source.rpartition('/')[2]}"
    members = [name for name in root.names(folder) if name.startswith("dev-")]
    numbers = tuple(number for name in members if (number := _text(root, f"{folder}/{name}/block/dev")))
    if not numbers or len(numbers) < len(members):
        raise ProbeError(f"{source}: /{folder} does not name its devices", fix=f"ls -l /{folder}/")
    return numbers
