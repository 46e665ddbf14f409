"""The gates on filesystems: each passing, failing, advising and in error."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.criteria import storage
from streamworthy.verdict import Word, verdict
from tests.selftest.criteria.asked import limit
from tests.selftest.criteria.volumes import MOUNT, VOLUME, facts, on

FILESYSTEM = limit("storage.filesystem", accept=("ext4", "xfs"), advise=("btrfs", "zfs", "f2fs"))
NETWORK = limit("storage.network")

HIDDEN = replace(VOLUME, leaves=(), leaves_unknown="/: the overlay's layers lie outside of this container's mounts")


def test_an_accepted_filesystem_passes_and_is_named():
    """The whole verdict of the common case."""
    assert storage.filesystem(facts(), FILESYSTEM) == verdict(
        Word.PASS, measured="ext4 at /data", required="ext4, xfs (with advice btrfs, zfs, f2fs)"
    )


@pytest.mark.parametrize(
    ("fstype", "cause"),
    [
        ("fuseblk", "disk driver in user space"),
        ("ntfs3", "ntfs3 driver maps large files slowly"),
        ("exfat", "that limit is FAT32's"),
        ("vfat", "cannot hold a file of 4 GiB"),
        ("msdos", "cannot hold a file of 4 GiB"),
        ("tmpfs", "the shards take the memory"),
        ("squashfs", "decompresses"),
        ("minix", "minix is not a filesystem that this tier accepts"),
        ("9p", "relays each read to another system"),
    ],
)
def test_each_other_filesystem_fails_for_its_own_reason(fstype, cause):
    """What is wrong with one is not said of another; the shards' folder is in the remedy."""
    found = storage.filesystem(facts(on(fstype)), FILESYSTEM)
    assert (found.word, found.measured) == (Word.FAIL, f"{fstype} at /data")
    assert cause in found.cause
    assert any("rsync --archive --progress /data/glm/" in line for line in found.fix)


@pytest.mark.parametrize("fstype", ["btrfs", "zfs", "f2fs"])
def test_filesystems_that_are_fine_uncompressed_pass_with_advice(fstype):
    """Advice keeps its cause."""
    found = storage.filesystem(facts(on(fstype)), FILESYSTEM)
    assert (found.word, f"{fstype} at /data" in found.cause) == (Word.ADVICE, True)


ENCODED = ("/data/glm/a.gguf",)


@pytest.mark.parametrize(
    ("volume", "word"),
    [
        (replace(on("btrfs"), encoded_shards=ENCODED), Word.FAIL),
        (replace(on("btrfs", super_options=("rw", "compress=zstd:1")), encoded_shards=()), Word.ADVICE),
        (on("btrfs", super_options=("rw", "compress=zstd:1")), Word.FAIL),
        (on("btrfs", super_options=("rw", "compress-force=lzo")), Word.FAIL),
        (on("f2fs", super_options=("rw", "compress_algorithm=lz4")), Word.ADVICE),
        (on("f2fs", super_options=("rw", "compress_extension=*")), Word.FAIL),
        (replace(on("zfs"), shard_bytes=1000, allocated_bytes=970), Word.ADVICE),
        (replace(on("zfs"), shard_bytes=1000, allocated_bytes=969), Word.FAIL),
    ],
)
def test_compression_fails_where_it_is_real(volume, word):
    """Extents decide where they were read; the mount option where they were not; stored blocks on ZFS."""
    found = storage.filesystem(facts(volume), FILESYSTEM)
    assert found.word is word
    assert ("decompresses" in found.cause) == (word is Word.FAIL)


@pytest.mark.parametrize(("fstype", "word"), [("ext4", Word.PASS), ("ntfs3", Word.FAIL)])
def test_overlay_is_judged_by_its_layer(fstype, word):
    """The overlay's own name is neither good nor bad."""
    layer = replace(MOUNT, fstype=fstype, mount_point="/")
    found = storage.filesystem(facts(replace(on("overlay"), beneath=(layer,))), FILESYSTEM)
    assert (found.word, found.measured) == (word, f"{fstype} at /, beneath /data")


def test_an_overlay_whose_layers_cannot_be_seen_is_an_error():
    """Inside a container the host's disk is unknown, and unknown is never safe."""
    found = storage.filesystem(facts(replace(HIDDEN, mount=replace(MOUNT, fstype="overlay"))), FILESYSTEM)
    assert (found.word, "outside of this container" in found.cause) == (Word.ERROR, True)


def test_a_tier_may_accept_overlay_as_such():
    """Any machine will do for the sample."""
    volume = replace(HIDDEN, mount=replace(MOUNT, fstype="overlay"))
    accepting = limit("storage.filesystem", accept=("ext4", "overlay"), advise=())
    assert storage.filesystem(facts(volume), accepting).word is Word.PASS


def test_a_loop_device_s_file_may_lie_on_a_bad_filesystem():
    """Ext4 in a file on exFAT is read through exFAT."""
    volume = replace(VOLUME, beneath=(replace(MOUNT, fstype="exfat", mount_point="/media"),))
    found = storage.filesystem(facts(volume), FILESYSTEM)
    assert (found.word, found.measured) == (Word.FAIL, "ext4 at /data; exfat at /media, beneath /data")


def test_the_worst_of_two_volumes_decides_and_both_are_named():
    """A shard on NTFS is not hidden by those on ext4."""
    found = storage.filesystem(facts(VOLUME, on("ntfs3", mount_point="/mnt/d")), FILESYSTEM)
    assert (found.word, found.measured) == (Word.FAIL, "ext4 at /data; ntfs3 at /mnt/d")


def test_a_local_volume_passes():
    """Nothing is required but that it is local."""
    assert storage.network(facts(), NETWORK) == verdict(Word.PASS, measured="local at /data", required="local")


@pytest.mark.parametrize(
    "kind", ["9p", "drvfs", "nfs", "nfs4", "cifs", "smb3", "virtiofs", "fuse.sshfs", "fuse", "ceph"]
)
def test_each_network_or_relay_fails_by_its_name(kind):
    """The kind is measured, the cause says what it costs."""
    found = storage.network(facts(on(kind, network=kind)), NETWORK)
    assert (found.word, found.measured, found.cause != "") == (Word.FAIL, f"{kind} at /data", True)
    assert found.fix


def test_wsl_is_told_to_use_its_own_disk():
    """The remedy for drvfs is WSL2's own."""
    volume = on("9p", network="9p", super_options=("rw", "aname=drvfs;path=C:\\;uid=1000"))
    assert "wsl.exe --mount" in "\n".join(storage.network(facts(volume), NETWORK).fix)


def test_a_file_on_a_network_below_a_loop_device_fails():
    """What lies beneath counts."""
    volume = replace(VOLUME, beneath=(replace(MOUNT, fstype="nfs4", network="nfs4", mount_point="/net"),))
    assert storage.network(facts(volume), NETWORK).word is Word.FAIL


def test_an_overlay_that_may_hide_a_network_is_an_error():
    """Its layers may lie anywhere."""
    assert storage.network(facts(replace(HIDDEN, mount=replace(MOUNT, fstype="overlay"))), NETWORK).word is Word.ERROR


@pytest.mark.parametrize(
    ("fstype", "number", "word"),
    [
        ("scoutfs", "0:51", Word.ERROR),
        ("ecryptfs", "0:51", Word.ERROR),
        ("zfs", "0:50", Word.PASS),
        ("btrfs", "0:33", Word.PASS),
        ("ext4", "253:0", Word.PASS),
    ],
)
def test_a_filesystem_that_names_no_disk_is_not_called_local(fstype, number, word):
    """Each cluster's filesystem has a name of its own, and no list holds them all."""
    volume = replace(on(fstype, major_minor=number), leaves=(), leaves_unknown="names no block device")
    found = storage.network(facts(volume), NETWORK)
    assert found.word is word
    assert word is Word.PASS or found.fix[0] == "findmnt --target /data"


@pytest.mark.parametrize(
    ("fstype", "cause", "fix"),
    [
        ("btrfs", "verifies a checksum", "# keep compression off"),
        ("exfat", "a chain of clusters", "findmnt --real"),
        ("fuseblk", "disk driver in user space", "findmnt --real"),
    ],
)
def test_advice_has_the_cause_and_the_remedy_of_its_filesystem(fstype, cause, fix):
    """Compression is no matter of a filesystem that has none."""
    lenient = limit("storage.filesystem", accept=("ext4",), advise=("btrfs", "exfat", "fuseblk"))
    found = storage.filesystem(facts(on(fstype)), lenient)
    assert (found.word, cause in found.cause, found.fix[0].startswith(fix)) == (Word.ADVICE, True, True)


def test_a_windows_drive_is_left_as_wsl_leaves_it():
    """Both gates that fail on it give the same way out."""
    windows = on("9p", network="9p", super_options=("rw", "aname=drvfs;path=C:\\"))
    way = storage.network(facts(windows), NETWORK).fix
    assert "wsl.exe --mount" in way[1]
    assert storage.filesystem(facts(windows), FILESYSTEM).fix == way
