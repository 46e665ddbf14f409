"""Layers of overlays, read off mount options as kernels write them."""

from __future__ import annotations

import pytest

from streamworthy.facts.storage import Placement
from streamworthy.probes.mountinfo import parse_mountinfo
from streamworthy.probes.overlay import Layers, folders_of, parse_layers
from streamworthy.probes.volumes import probe_volumes
from tests.selftest.probes.trees import disk, numbered, tree

OSTREE = "ro,relatime,lowerdir+=/run/cfsroot-lower,datadir+=/sysroot/ostree/repo/objects,redirect_dir=on,metacopy=on"


def overlay(options):
    """Give an overlay at /srv."""
    (mount,) = parse_mountinfo(f"90 31 0:61 / /srv rw - overlay overlay {options}\n")
    return mount


@pytest.mark.parametrize(
    ("options", "upper", "lower", "data"),
    [
        ("rw,lowerdir=/l2:/l1,upperdir=/up,workdir=/wk", ("/up",), ("/l2", "/l1"), ()),
        ("rw,lowerdir+=/l2,lowerdir+=/a:b,upperdir=/up,workdir=/wk", ("/up",), ("/l2", "/a:b"), ()),
        (r"ro,lowerdir=/a\134:b:/l1", (), ("/a:b", "/l1"), ()),
        (r"rw,lowerdir=/l:/b\134\134s:/sp\040ace,upperdir=/u\134\054p:x", ("/u,p:x",), ("/l", "/b\\s", "/sp ace"), ()),
        (r"ro,lowerdir+=/l,lowerdir+=/u\054p:x,datadir+=/sp\040ace", (), ("/l", "/u,p:x"), ("/sp ace",)),
        (r"rw,lowerdir=lo\134\054w\134:1:/ends\134\134:/l", (), ("lo,w:1", "/ends\\", "/l"), ()),
        ("ro,lowerdir=/run/cfs::/sysroot/objects::/more", (), ("/run/cfs",), ("/sysroot/objects", "/more")),
        (OSTREE, (), ("/run/cfsroot-lower",), ("/sysroot/ostree/repo/objects",)),
    ],
)
def test_every_way_of_writing_layers_is_read(options, upper, lower, data):
    """A colon parts layers in lowerdir= alone, and not behind a backslash; two colons begin the data layers.

    The escaped lines are those that Linux 6.18 wrote for such names.
    """
    assert parse_layers(overlay(options)) == Layers(upper=upper, lower=lower, data=data)


def test_composefs_keeps_contents_in_its_data_layer(tmp_path):
    """composefs#264: the lower layer, an erofs image, has the names only."""
    mount = overlay(OSTREE)
    layers = parse_layers(mount)
    assert folders_of(tree(tmp_path), mount, layers, "/srv/a.gguf") == ("/sysroot/ostree/repo/objects",)


def test_what_was_written_to_an_overlay_with_data_layers_is_in_its_upper_one(tmp_path):
    """Only names of a lower layer lead to the data layers."""
    mount = overlay(f"{OSTREE},upperdir=/var/up")
    layers = parse_layers(mount)
    assert folders_of(tree(tmp_path), mount, layers, "/srv/a.gguf") == ("/var/up",)


@pytest.mark.parametrize("lower", ["/run/cfsroot-lower", "/"])
def test_a_model_in_a_composefs_image_lies_on_the_disk_of_its_objects(tmp_path, lower):
    """The image has no say, and neither has its name: a detached mount is shown as "/" (composefs-rs#66)."""
    sda = "sys/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda"
    mounts = (
        f"31 1 0:30 / / ro - overlay composefs {OSTREE.replace('/run/cfsroot-lower', lower)}\n"
        "32 31 8:0 / /sysroot ro - xfs /dev/sda rw\n"
        "33 31 7:0 / /run/cfsroot-lower ro - erofs /dev/loop0 ro\n"
    )
    files = disk(sda, "8:0") | {"proc/self/mountinfo": mounts}
    shard = Placement(path="/usr/a.gguf", real_path="/usr/a.gguf", size_bytes=5, allocated_bytes=8)
    root = tree(tmp_path, files=files, links=numbered((sda, "8:0")))
    (volume,) = probe_volumes(root, (shard,), folder="/usr", set_total_bytes=None).volumes
    assert [leaf.name for leaf in volume.leaves] == ["sda"]
    assert [mount.mount_point for mount in volume.beneath] == ["/sysroot"]
