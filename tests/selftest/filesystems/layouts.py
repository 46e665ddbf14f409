"""Ways in which people keep a model: each puts real shards somewhere and gives the path that a user would name."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.selftest.filesystems import mounts

if TYPE_CHECKING:
    from contextlib import ExitStack

_SMALL_BYTES = 48 * 2**20  # for the sample of 20 MB to be half of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where a layout is built: an empty folder on a local disk, the shards to place, and what is undone at the end."""

    folder: Path
    shards: tuple[Path, ...]
    stack: ExitStack

    def place(self, folder, names=None):
        """Copy the shards into a folder and let them reach the disk; gives the first one."""
        folder.mkdir(parents=True, exist_ok=True)
        for shard, name in zip(self.shards, names or [shard.name for shard in self.shards], strict=True):
            with shard.open("rb") as source, (folder / name).open("wb") as target:
                shutil.copyfileobj(source, target)
                target.flush()
                os.fsync(target.fileno())  # sync(2) would wait for all that others write
        return folder / self.shards[0].name

    def disk(self, kind="ext4", *options, direct=True, name="disk", size_bytes=mounts.IMAGE_BYTES):
        """Mount a filesystem on a loop device of its own."""
        below = self.folder / name
        below.mkdir()
        mount = mounts.filesystem(below, kind, *options, direct=direct, size_bytes=size_bytes)
        return self.stack.enter_context(mount)[1]

    def enter(self, target, *command):
        """Mount with a command that ends."""
        return self.stack.enter_context(mounts.mounted(target, *command))

    def serve(self, name, *command):
        """Mount with a process that stays."""
        return self.stack.enter_context(mounts.served(self.folder / name, *command))


def on(kind, *options, direct=True):
    """Give a layout: the shards on a filesystem of their own."""
    return lambda site: site.place(site.disk(kind, *options, direct=direct) / "models")


def home(site):
    """The scratch folder itself: what the disk of this machine is judged by."""
    return site.place(site.folder / "models")


def subvolume(site):
    """btrfs as distributions make it: one subvolume mounted, not the whole."""
    disk = site.disk("btrfs")
    mounts.run("btrfs", "subvolume", "create", str(disk / "@home"))
    device = next(line.split()[0] for line in Path("/proc/mounts").read_text().splitlines() if f" {disk} " in line)
    return site.place(site.enter(site.folder / "home", "mount", "-o", "subvol=@home", device) / "models")


def memory(site):
    """A folder in memory."""
    return site.place(site.enter(site.folder / "memory", "mount", "-t", "tmpfs", "none"))


def image_in_memory(site):
    """ext4 in a file that lies in memory."""
    folder = site.enter(site.folder / "memory", "mount", "-t", "tmpfs", "none")
    return site.place(site.stack.enter_context(mounts.filesystem(folder, "ext4"))[1])


def image_behind_fuse(site):
    """ext4 in a file that a user-space process relays."""
    (site.folder / "source").mkdir()
    folder = site.serve("relayed", "bindfs", "-f", str(site.folder / "source"))
    return site.place(site.stack.enter_context(mounts.filesystem(folder, "ext4"))[1])


def packed(kind, *command):
    """Give a layout: the shards in a compressed image that can only be read."""

    def build(site):
        site.place(site.folder / "source")
        image = site.folder / "packed.image"
        source = str(site.folder / "source")
        mounts.run(*(part.format(image=image, source=source) for part in command))
        mount = mounts.image_mounted(image, site.folder / kind, kind, "-o", "ro", direct=True)
        return site.stack.enter_context(mount)[1] / site.shards[0].name

    return build


def overlaid(below, folder="layers"):
    """Give a layout: an overlay whose lower layer is another layout, which may be an overlay in another folder."""

    def build(site):
        shard = below(site)
        layers = site.folder / folder
        layers.mkdir()
        merged = site.stack.enter_context(mounts.overlay(layers, shard.parent))
        return merged / shard.name

    return build


def fat(site):
    """FAT32 through a user-space driver, over a file."""
    image = site.folder / "fat.image"
    mounts.make_image(image, "vfat")
    return site.place(site.serve("fat", "fusefat", "-f", "-o", "rw+", str(image)))


def relayed(*options):
    """Give a layout: a local folder relayed by bindfs."""

    def build(site):
        shard = home(site)
        return site.serve("relayed", "bindfs", "-f", *options, str(shard.parent)) / shard.name

    return build


def bound(site):
    """A bind mount of a folder on the local disk."""
    shard = home(site)
    return site.enter(site.folder / "bound", "mount", "--bind", str(shard.parent)) / shard.name


def stacked(site):
    """A disk mounted over a folder in memory, at one mount point with a blank in its name."""
    target = site.folder / "my models"
    site.enter(target, "mount", "-t", "tmpfs", "below")
    device = next(line.split()[0] for line in _mounts_below(site.disk()))
    return site.place(site.enter(target, "mount", device))


def buried(site):
    """A folder of the disk, with a mount deeper in it that a later mount of the parent hides."""
    deep = site.folder / "parent" / "models"
    deep.mkdir(parents=True)
    site.enter(deep, "mount", "-t", "tmpfs", "hidden")
    device = next(line.split()[0] for line in _mounts_below(site.disk()))
    return site.place(site.enter(site.folder / "parent", "mount", device) / "models")


def _mounts_below(folder):
    return [line for line in Path("/proc/mounts").read_text().splitlines() if line.split()[1] == str(folder)]


def linked_folder(site):
    """A link in the scratch folder to a folder on another filesystem."""
    folder = site.folder / "models"
    shard = site.place(site.disk("xfs") / "glm")
    folder.symlink_to(shard.parent)
    return folder / shard.name


def hub_cache(site):
    """A Hugging Face cache: names below snapshots/ are links to blobs, which are named by their hash."""
    repository = site.disk() / "hub" / "models--owner--name"
    blobs = [f"{number:064x}" for number in range(len(site.shards))]
    site.place(repository / "blobs", blobs)
    snapshot = repository / "snapshots" / "0123456789abcdef0123456789abcdef01234567"
    snapshot.mkdir(parents=True)
    for shard, blob in zip(site.shards, blobs, strict=True):
        (snapshot / shard.name).symlink_to(f"../../blobs/{blob}")
    return snapshot / site.shards[0].name


def two_volumes(site):
    """The last shard is a link to a shard in memory."""
    shard = site.place(site.disk())
    other = site.enter(site.folder / "memory", "mount", "-t", "tmpfs", "none")
    last = shard.parent / site.shards[-1].name
    shutil.move(last, other / last.name)
    last.symlink_to(other / last.name)
    return shard


def nearly_full(site):
    """A disk on which little is left beside the model."""
    disk = site.disk(size_bytes=_SMALL_BYTES)
    shard = site.place(disk)
    left = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
    with (disk / "filler").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, left - 2**20)
        os.fsync(file.fileno())
    return shard


def read_only(site, *, whole=True):
    """A disk that is mounted to be read only."""
    disk = site.disk()
    shard = site.place(disk)
    if not whole:
        (shard.parent / site.shards[-1].name).unlink()
    mounts.run("mount", "-o", "remount,ro", str(disk))
    return shard


def each_access_written(site):
    """A disk mounted with strictatime."""
    return site.place(site.disk("ext4", "-o", "strictatime"))
