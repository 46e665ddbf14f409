"""Room on each filesystem, and the used share."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.criteria.room import Room, rooms_of, used_share_of
from tests.selftest.criteria.volumes import VOLUME, facts, on

ROOM = Room(
    mount_point="/data",
    share_bytes=500,
    missing_bytes=0,
    room_bytes=None,
    writable=True,
    sealed=False,
    reserve_bytes=100,
)


def test_bind_mounts_are_one_room_and_missing_bytes_go_home():
    """The same device number is the same filesystem."""
    bound, other = on("ext4", mount_point="/bound"), on("xfs", mount_point="/big", major_minor="8:16")
    assert rooms_of(facts(VOLUME, bound, other, total=1700)) == [
        replace(ROOM, share_bytes=1200, missing_bytes=200, room_bytes=2008),
        replace(ROOM, mount_point="/big", room_bytes=1504),
    ]


def test_more_placed_than_the_total_asks_for_no_negative_room():
    """A stale total does not make room."""
    assert [room.share_bytes for room in rooms_of(facts(total=1))] == [500]


def test_a_ratio_needs_both_its_parts():
    """Neither an unknown nor an empty share has one."""
    assert replace(ROOM, share_bytes=0, room_bytes=9).ratio is None
    assert replace(ROOM, share_bytes=9, room_bytes=None).ratio is None
    assert replace(ROOM, share_bytes=4, room_bytes=6).ratio == 1.5


@pytest.mark.parametrize(
    ("options", "super_options", "writable", "sealed"),
    [
        (("rw",), ("rw",), True, False),
        (("ro", "relatime"), ("rw", "errors=remount-ro"), False, False),
        (("ro",), ("ro",), False, True),
        (("rw",), ("ro",), False, True),
    ],
)
def test_a_read_only_mount_is_told_from_a_read_only_filesystem(options, super_options, writable, sealed):
    """What a read-only bind mount shows may be written to elsewhere."""
    (room,) = rooms_of(facts(on("ext4", options=options, super_options=super_options)))
    assert (room.writable, room.sealed) == (writable, sealed)


def test_only_where_missing_shards_go_has_to_be_writable():
    """A second mount of the same filesystem may be read-only."""
    (room,) = rooms_of(facts(VOLUME, on("ext4", mount_point="/shown", options=("ro",)), total=1700))
    assert (room.missing_bytes, room.writable) == (700, True)


def test_the_used_share_is_unknown_without_statvfs():
    """Absent is None."""
    assert used_share_of(replace(VOLUME, space=None)) is None
