"""Causes and remedies of filesystems."""

from __future__ import annotations

import pytest

from streamworthy.criteria.filesystem_types import advice_of, cause_of, decompressing, moving, network_cause


@pytest.mark.parametrize(
    ("alias", "name"), [("nfs4", "nfs"), ("smb3", "cifs"), ("fuse.sshfs", "fuse"), ("msdos", "vfat")]
)
def test_names_of_one_filesystem_share_its_cause(alias, name):
    """The kernel has several names for some."""
    assert cause_of(alias) == cause_of(name)


def test_an_unknown_name_is_repeated():
    """No cause is invented."""
    assert "bcachefs" in cause_of("bcachefs")
    assert "bcachefs" in advice_of("bcachefs")
    assert network_cause("lustre") == ""


def test_remedies_quote_their_paths():
    """Lines can be pasted, whatever the folder is called."""
    assert "'/my models/'" in moving("/my models")[1]
    assert decompressing("btrfs", "/", "/my models/a.gguf")[0] == "btrfs property set '/my models' compression none"
    assert "$(findmnt -no SOURCE /tank)" in decompressing("zfs", "/tank", "/tank/a.gguf")[0]
    assert decompressing("f2fs", "/f", "")[0] == "chattr -R -c /f"
