"""The gates on mount options and room: each limit at, below and above, each passing, failing and in error."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.criteria import storage
from streamworthy.facts.storage import Allocation
from streamworthy.units import RATIO, SHARE
from streamworthy.verdict import Word
from tests.selftest.criteria.asked import limit
from tests.selftest.criteria.volumes import VOLUME, facts, on

OPTIONS = limit("storage.mount_options", prefer=("noatime", "relatime", "nodiratime"))
FREE = limit("storage.free_space", at_least=1.2)
NOT_ASKED = Allocation(folder="/data/glm", size_bytes=0, error="", not_asked="no shard is missing")
USED = limit("storage.used_share", at_most=0.9, advised_at_most=0.8)


@pytest.mark.parametrize("options", [("rw", "relatime"), ("rw", "noatime"), ("rw", "nodiratime"), ("ro",)])
def test_any_preferred_option_or_a_read_only_mount_passes(options):
    """One is enough; a read-only mount writes no access times."""
    found = storage.mount_options(facts(on("ext4", options=options)), OPTIONS)
    assert (found.word, found.measured) == (Word.PASS, f"{options[-1]} at /data")


def test_strict_access_times_fail_with_the_remount():
    """The mount point is in the remedy, quoted."""
    found = storage.mount_options(facts(on("ext4", options=("rw", "nosuid"), mount_point="/my data")), OPTIONS)
    assert (found.word, found.measured) == (Word.FAIL, "rw,nosuid at /my data")
    assert found.fix[0] == "sudo mount -o remount,noatime '/my data'"


@pytest.mark.parametrize(("available", "word"), [(95, Word.FAIL), (96, Word.PASS), (97, Word.PASS)])
def test_room_counts_what_is_placed(available, word):
    """504 allocated + 96 available are 1.2 x 500."""
    volume = replace(VOLUME, space=replace(VOLUME.space, available_bytes=available))
    found = storage.free_space(facts(volume), NOT_ASKED, FREE)
    assert (found.word, found.value, found.unit) == (word, (504 + available) / 500, RATIO.unit)


def test_the_message_names_what_is_lacking():
    """In bytes, at the mount point."""
    volume = replace(VOLUME, space=replace(VOLUME.space, free_bytes=0, available_bytes=0))
    found = storage.free_space(facts(volume), NOT_ASKED, FREE)
    assert (found.measured, found.required) == ("1.01x of 500 B at /data", "at least 1.20x")
    assert found.cause == "/data lacks 96 B of the room that the set needs there"


@pytest.mark.parametrize(("total", "word"), [(1253, Word.PASS), (1254, Word.FAIL)])
def test_missing_shards_need_room_in_the_model_s_folder(total, word):
    """1504 bytes of room, of which 1.2 x the whole set is asked."""
    assert storage.free_space(facts(total=total), NOT_ASKED, FREE).word is word


@pytest.mark.parametrize(("free", "named"), [(95, False), (96, True), (1000, True)])
def test_the_reserve_for_root_is_no_room(free, named):
    """46 bytes are lacking: a reserve that would be enough is named, with how to give it to everyone."""
    volume = replace(VOLUME, space=replace(VOLUME.space, free_bytes=free, available_bytes=50))
    found = storage.free_space(facts(volume), NOT_ASKED, FREE)
    assert (found.word, "on ext4 for root" in found.cause) == (Word.FAIL, named)
    assert found.fix[0].startswith("sudo tune2fs -m 0 $(findmnt -no SOURCE /data)") is named


def test_each_filesystem_needs_its_own_share():
    """Room on one does not help another; missing shards go to the folder's."""
    other = replace(on("xfs", mount_point="/big", major_minor="8:16"), space=replace(VOLUME.space, available_bytes=50))
    found = storage.free_space(facts(VOLUME, other, total=1300), NOT_ASKED, FREE)
    assert (found.word, found.measured) == (Word.FAIL, "1.88x of 800 B at /data; 1.11x of 500 B at /big")


def test_two_bind_mounts_of_one_filesystem_share_its_room():
    """The same device number is the same room: 1000 + 2 x 504 for 1000."""
    second = on("ext4", mount_point="/bound")
    found = storage.free_space(facts(VOLUME, second, total=1000), NOT_ASKED, FREE)
    assert (found.value, found.measured) == (2.008, "2.01x of 1000 B at /data")


@pytest.mark.parametrize(
    "broken",
    [
        facts(total=None),
        facts(replace(VOLUME, space=None)),
        facts(replace(VOLUME, space=replace(VOLUME.space, total_bytes=0))),
        facts(replace(VOLUME, shard_bytes=0, shards=()), total=0),
    ],
    ids=["total unknown", "no statvfs", "statvfs says nothing", "empty set"],
)
def test_unknown_room_is_an_error(broken):
    """Neither enough nor too little."""
    found = storage.free_space(broken, NOT_ASKED, FREE)
    assert (found.word, found.value, found.cause != "") == (Word.ERROR, None, True)


SEALED = on("squashfs", options=("ro",), super_options=("ro", "errors=continue"))
FULL = replace(VOLUME.space, free_bytes=0, available_bytes=0)


def test_a_whole_set_in_a_read_only_filesystem_needs_no_room():
    """An image is always full, and nothing is written there; another volume is judged all the same."""
    image = replace(SEALED, space=FULL)
    alone = storage.free_space(facts(image), NOT_ASKED, FREE)
    assert (alone.word, alone.value, alone.measured) == (Word.NOT_APPLICABLE, None, "read-only at /data")
    other = replace(on("xfs", mount_point="/big", major_minor="8:16"), space=FULL)
    both = storage.free_space(facts(image, other, total=1000), NOT_ASKED, FREE)
    assert (both.word, both.value) == (Word.FAIL, 504 / 500)


@pytest.mark.parametrize("volume", [SEALED, on("ext4", options=("ro",))], ids=["image", "read-only bind mount"])
def test_missing_shards_cannot_go_to_a_read_only_mount(volume):
    """However much room there is; the bytes are named."""
    found = storage.free_space(facts(volume, total=700), NOT_ASKED, FREE)
    assert (found.word, found.measured) == (Word.FAIL, "read-only at /data, 200 B missing")
    assert "the 200 B that are missing cannot be put there" in found.cause
    assert found.fix[0] == "sudo mount -o remount,rw /data"


def test_a_read_only_filesystem_fills_no_further():
    """A full image is no nearly full disk; one beside it is judged."""
    image = replace(SEALED, space=FULL)
    found = storage.used_share(facts(image), USED)
    assert (found.word, found.value) == (Word.NOT_APPLICABLE, None)
    other = replace(on("xfs", mount_point="/big"), space=FULL)
    assert storage.used_share(facts(image, other), USED).word is Word.FAIL


@pytest.mark.parametrize(
    ("error", "cause", "fix"),
    [("EDQUOT", "a quota leaves less than the 700 B", "quota -s"), ("ENOSPC", "does not give the 700 B", "df --block")],
)
def test_what_the_filesystem_refuses_fails_whatever_statvfs_says(error, cause, fix):
    """A quota and a filesystem that counts otherwise have their own remedies; the room by statvfs is shown too."""
    asked = Allocation(folder="/data/my glm", size_bytes=700, error=error, not_asked="")
    found = storage.free_space(facts(), asked, FREE)
    assert (found.word, cause in found.cause, found.value) == (Word.FAIL, True, 3.008)
    assert found.measured == f"700 B refused at /data/my glm ({error}); 3.01x of 500 B at /data"
    assert found.fix[0].startswith(fix)
    assert "'/data/my glm'" in "".join(found.fix)


def test_room_that_was_given_is_evidence():
    """So is why it was not asked for."""
    given = Allocation(folder="/data/glm", size_bytes=700, error="", not_asked="")
    assert storage.free_space(facts(), given, FREE).evidence == ("allocation=700 B asked for in /data/glm",)
    assert storage.free_space(facts(), NOT_ASKED, FREE).evidence == ("allocation=no shard is missing",)


@pytest.mark.parametrize(
    ("free", "available", "word"),
    [
        (210, 210, Word.PASS),
        (200, 200, Word.PASS),
        (199, 199, Word.ADVICE),
        (100, 100, Word.ADVICE),
        (99, 99, Word.FAIL),
    ],
)
def test_how_full_a_volume_may_be(free, available, word):
    """80 % advised, 90 % required, both inclusive."""
    space = replace(VOLUME.space, total_bytes=1000, free_bytes=free, available_bytes=available)
    found = storage.used_share(facts(replace(VOLUME, space=space)), USED)
    assert (found.word, found.value, found.unit) == (word, (1000 - free) / 1000, SHARE.unit)


def test_the_share_is_that_of_df():
    """Root's reserve is neither used nor available: 600 used, 350 available."""
    space = replace(VOLUME.space, total_bytes=1000, free_bytes=400, available_bytes=350)
    found = storage.used_share(facts(replace(VOLUME, space=space)), USED)
    assert (found.measured, found.required) == ("63.2 % of /data", "at most 90.0 %, 80.0 % advised")


def test_without_an_advised_share_only_the_required_one_counts():
    """A tier may leave it out."""
    space = replace(VOLUME.space, total_bytes=1000, free_bytes=100, available_bytes=100)
    found = storage.used_share(facts(replace(VOLUME, space=space)), limit("storage.used_share", at_most=0.9))
    assert (found.word, found.required) == (Word.PASS, "at most 90.0 %")


@pytest.mark.parametrize(
    "space", [None, replace(VOLUME.space, total_bytes=0, free_bytes=0, available_bytes=0)], ids=["absent", "zero"]
)
def test_an_unknown_share_is_an_error(space):
    """An empty statvfs is not an empty disk."""
    assert storage.used_share(facts(replace(VOLUME, space=space)), USED).word is Word.ERROR
