"""Room on each filesystem, and the used share."""

from __future__ import annotations

from dataclasses import replace

from streamworthy.criteria.room import Room, rooms_of, used_share_of
from tests.selftest.criteria.volumes import VOLUME, facts, on


def test_bind_mounts_are_one_room_and_missing_bytes_go_home():
    """The same device number is the same filesystem."""
    bound, other = on("ext4", mount_point="/bound"), on("xfs", mount_point="/big", major_minor="8:16")
    assert rooms_of(facts(VOLUME, bound, other, total=1700)) == [
        Room(mount_point="/data", share_bytes=1200, room_bytes=2008, reserve_bytes=100),
        Room(mount_point="/big", share_bytes=500, room_bytes=1504, reserve_bytes=100),
    ]


def test_more_placed_than_the_total_asks_for_no_negative_room():
    """A stale total does not make room."""
    assert [room.share_bytes for room in rooms_of(facts(total=1))] == [500]


def test_a_ratio_needs_both_its_parts():
    """Neither an unknown nor an empty share has one."""
    assert Room(mount_point="/", share_bytes=0, room_bytes=9, reserve_bytes=0).ratio is None
    assert Room(mount_point="/", share_bytes=9, room_bytes=None, reserve_bytes=0).ratio is None
    assert Room(mount_point="/", share_bytes=4, room_bytes=6, reserve_bytes=0).ratio == 1.5


def test_the_used_share_is_unknown_without_statvfs():
    """Absent is None."""
    assert used_share_of(replace(VOLUME, space=None)) is None
