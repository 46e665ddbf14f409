"""Real mounts, resolved: each filesystem this machine can make, with a small shard on it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from streamworthy.facts.storage import Placement
from streamworthy.probes.latency import probe_random_read_latency
from streamworthy.probes.sysroot import Sysroot
from streamworthy.probes.volumes import probe_volumes
from tests.selftest.filesystems.mounts import filesystem, mounted, need_root, overlay, served

pytestmark = pytest.mark.root
SHARD_BYTES = 3 * 2**20


@pytest.fixture
def scratch(tmp_path):
    """Give a folder on a disk that can be resolved, which loop devices' files need."""
    need_root()
    if not volume_of(place(tmp_path / "probe.gguf")).leaves:
        pytest.skip("needs a scratch folder on a local disk that sysfs shows")
    return tmp_path


def place(path, *, content=None):
    """Write a shard and give its placement."""
    path.write_bytes(os.urandom(SHARD_BYTES) if content is None else content)
    os.sync()
    return placed(path)


def placed(path):
    """Give the placement of a file that is there."""
    real = os.path.realpath(path)
    found = Path(real).stat()
    return Placement(path=str(path), real_path=real, size_bytes=found.st_size, allocated_bytes=found.st_blocks * 512)


def facts_of(*placements):
    """Probe where files on this machine lie."""
    folder = str(Path(placements[0].real_path).parent)
    return probe_volumes(Sysroot(), placements, folder=folder, set_total_bytes=None)


def volume_of(placement):
    """Probe the one volume of a file."""
    (volume,) = facts_of(placement).volumes
    return volume


def through_loop(device, scratch):
    """Give the scratch folder's disks, reached through a loop device."""
    below = volume_of(placed(scratch / "probe.gguf")).leaves
    return tuple(replace(leaf, chain=(Path(device).name, *leaf.chain)) for leaf in below)


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs"])
def test_a_loop_mount_leads_to_the_disk_below_its_file(scratch, kind):
    """Through the loop device and its backing file to the leaf; btrfs by its source, its number being anonymous."""
    with filesystem(scratch, kind) as (device, point):
        volume = volume_of(place(point / "a.gguf"))
        assert (volume.mount.fstype, volume.mount.mount_point, volume.mount.source) == (kind, str(point), device)
        assert volume.mount.major_minor.startswith("0:") == (kind == "btrfs")
        assert volume.leaves == through_loop(device, scratch)
        assert volume.leaves_unknown is None
        assert volume.beneath == (volume_of(placed(scratch / "probe.gguf")).mount,)
        assert (volume.shard_bytes, volume.shards) == (SHARD_BYTES, (str(point / "a.gguf"),))
        found = os.statvfs(point)
        assert volume.space.available_bytes == found.f_bavail * found.f_frsize


@pytest.mark.parametrize("kind", ["exfat-fuse", "ntfs-3g"])
def test_a_disk_driver_in_user_space_is_fuseblk_on_its_device(scratch, kind):
    """FUSE over a block device keeps the device's number, so the disk is found."""
    with filesystem(scratch, kind) as (device, point):
        volume = volume_of(place(point / "a.gguf"))
        assert (volume.mount.fstype, volume.mount.network) == ("fuseblk", None)
        assert volume.leaves == through_loop(device, scratch)


def test_btrfs_says_which_shards_it_compressed(scratch):
    """Compression is read off the extents, not off the mount option: random bytes stay as they are."""
    with filesystem(scratch, "btrfs", "-o", "compress=zstd:1") as (_, point):
        zeros = place(point / "zeros.gguf", content=b"weights " * 2**18)
        noise = place(point / "noise.gguf")
        assert volume_of(zeros).encoded_shards == (zeros.real_path,)
        assert volume_of(noise).encoded_shards == ()


def test_tmpfs_has_no_disk(scratch):
    """Memory is no unknown disk."""
    with mounted(scratch / "memory", "mount", "-t", "tmpfs", "none") as point:
        volume = volume_of(place(point / "a.gguf"))
        assert (volume.mount.fstype, volume.leaves, volume.leaves_unknown) == ("tmpfs", (), None)


def test_a_bind_mount_leads_to_its_source_s_disk(scratch):
    """A bind mount has its own mount point and root and the same disk."""
    with filesystem(scratch, "ext4") as (device, point):
        (point / "models").mkdir()
        with mounted(scratch / "bound", "mount", "--bind", str(point / "models")) as bound:
            volume = volume_of(place(bound / "a.gguf"))
            assert (volume.mount.mount_point, volume.mount.root) == (str(bound), "/models")
            assert volume.leaves == through_loop(device, scratch)


def test_stacked_mounts_and_blanks_resolve_to_the_topmost(scratch):
    """The last of stacked mounts holds the path, and octal escapes are undone."""
    with filesystem(scratch, "ext4"):
        target = scratch / "my models"
        with mounted(target, "mount", "-t", "tmpfs", "below"), mounted(target, "mount", "-t", "tmpfs", "above"):
            assert volume_of(place(target / "a.gguf")).mount.source == "above"


def test_overlay_is_resolved_by_the_layer_that_holds_the_file(scratch):
    """A file of the lower layer lies on the lower layer's disk, a new one on the upper layer's."""
    with filesystem(scratch, "ext4") as (device, lower):
        below = place(lower / "old.gguf")
        with overlay(scratch, lower) as merged:
            old, new = volume_of(placed(merged / "old.gguf")), volume_of(place(merged / "new.gguf"))
            assert below.size_bytes == old.shard_bytes
            assert (old.mount.fstype, old.leaves) == ("overlay", through_loop(device, scratch))
            home = volume_of(placed(scratch / "probe.gguf"))
            assert (new.leaves, new.beneath[0]) == (home.leaves, home.mount)


def test_shards_on_two_volumes_are_two_volumes(scratch):
    """A link to a shard elsewhere is followed: each shard counts where it lies."""
    with filesystem(scratch, "ext4") as (_, first), mounted(scratch / "mem", "mount", "-t", "tmpfs", "none") as second:
        here = place(first / "a-00001-of-00002.gguf")
        place(second / "elsewhere.gguf")
        link = first / "a-00002-of-00002.gguf"
        link.symlink_to(second / "elsewhere.gguf")
        found = [(each.mount.fstype, each.shard_bytes) for each in facts_of(here, placed(link)).volumes]
        assert found == [("ext4", SHARD_BYTES), ("tmpfs", SHARD_BYTES)]


def test_bindfs_is_fuse(scratch):
    """A relay of a local folder through FUSE has no disk of its own."""
    (scratch / "source").mkdir()
    with served(scratch / "relayed", "bindfs", "-f", str(scratch / "source")) as point:
        volume = volume_of(place(point / "a.gguf"))
        assert volume.mount.network in ("fuse", "fuse.bindfs")
        assert volume.leaves == ()


def test_random_reads_through_a_cached_loop_file_are_not_taken_for_the_disk(scratch):
    """Without direct I/O the loop device's file is in the page cache: the reads say nothing about the disk."""
    with filesystem(scratch, "ext4") as (_, point):
        facts = facts_of(place(point / "a.gguf"))
        volume = facts.volumes[0]
        hidden = tuple(replace(leaf, flags_are_evidence=False) for leaf in volume.leaves)
        found = probe_random_read_latency(Sysroot(), replace(facts, volumes=(replace(volume, leaves=hidden),)))
        assert (found.volumes[0].reads, "page cache" in found.volumes[0].reason) == (None, True)
