"""A disk of its own for the sample: a file as a loop device, with a read-ahead that is nobody else's. Not a test.

Direct I/O on the loop device (Linux 4.4, loop(4)): otherwise its file is cached a second time and cold is not cold.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from streamworthy.bench.evict import evict
from streamworthy.sample.make import ensure_sample
from streamworthy.sample.spec import spec_for_size
from tests.selftest.truth.undo import Undo

_SLACK_BYTES = 96 * 2**20  # inode tables, group descriptors, what ext4 keeps back
_COMPETITOR_BYTES = 256 * 2**20
READ_AHEAD_KIB = 16  # a fault on a slab of 150 KB brings little else


@dataclass(frozen=True, kw_only=True)
class Volume:
    """The mounted disk with the sample on it, and another file for another reader."""

    loop: str  # "loop0"
    shards: tuple[Path, ...]
    competitor: Path

    @property
    def weights_bytes(self):
        """What the shards hold."""
        return sum(path.stat().st_size for path in self.shards)

    @property
    def number(self):
        """The device's number, "7:0"."""
        return (Path("/sys/block") / self.loop / "dev").read_text().strip()

    def set_read_ahead(self, kib):
        """Set the window that a fault is read with."""
        _setting(self.loop).write_text(str(kib))

    def evict(self):
        """Drop the shards from memory, whoever had them read: pages charged to another group would be free."""
        found = evict(self.shards)
        assert not found.kept, found.kept


def _image_bytes(size_bytes):
    """Give whole MiB for a sample, which may be 6 % larger than asked, and the other file."""
    return (size_bytes * 106 // 100 + _COMPETITOR_BYTES + _SLACK_BYTES) // 2**20 * 2**20


def _setting(loop):
    return Path("/sys/block") / loop / "queue" / "read_ahead_kb"


@contextmanager
def sample_volume(folder, size_bytes, seed):
    """Make the disk and the sample on it; what was made is undone by what the system says is there, on every exit."""
    spec = spec_for_size(size_bytes, seed=seed)
    image, mount = folder / "disk.image", folder / "disk"
    with Undo() as undo:
        undo.callback(image.unlink, missing_ok=True)
        with image.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, _image_bytes(size_bytes))
        _run("mkfs.ext4", "-q", "-m", "0", "-O", "^has_journal", image)
        undo.callback(_detach, image)
        loop = Path(_run("losetup", "--find", "--show", "--direct-io=on", image)).name
        undo.callback(_setting(loop).write_text, _setting(loop).read_text())
        mount.mkdir()
        undo.callback(_unmount, mount)
        _run("mount", f"/dev/{loop}", mount)
        first = ensure_sample(mount, spec)
        competitor = mount / "competitor"
        competitor.write_bytes(os.urandom(2**20) * (_COMPETITOR_BYTES // 2**20))
        os.sync()
        shards = tuple(first.with_name(name) for name in spec.shard_names)
        volume = Volume(loop=loop, shards=shards, competitor=competitor)
        volume.set_read_ahead(READ_AHEAD_KIB)
        yield volume


def _detach(image):
    for loop in _run("losetup", "--noheadings", "--output", "NAME", "--associated", image).split():
        _run("losetup", "--detach", loop)


def _unmount(mount):
    if mount.is_mount():
        _run("umount", mount)
    mount.rmdir()


def _run(*command):
    return subprocess.run([*map(str, command)], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
