"""Whether every tensor lies inside its file; for hashes see test_integrity_hashes."""

from dataclasses import replace

import pytest

from streamworthy.criteria import integrity
from streamworthy.facts.shards import EndReads, ExtentFacts, SetExtents
from streamworthy.verdict import Word, verdict
from tests.selftest.criteria.asked import limit

SHARD = ExtentFacts(
    name="m.gguf",
    need_bytes=10_000,
    have_bytes=10_016,
    outside_count=0,
    tensor_count=7,
    first_outside="",
    hole_bytes=0,
    first_hole_bytes=None,
    trailing_bytes=0,
    trailing_magic=False,
    ends=EndReads(extents_count=3, read_count=3, failed_byte=None, error=""),
)
READ = "ends_read=3 of 3 extents"
WHOLE = SetExtents(shards=(SHARD,), cut=(), unread=())


def with_shard(**changes):
    """Give a set whose shard has these changes."""
    return replace(WHOLE, shards=(replace(SHARD, **changes),))


def test_a_whole_set_passes():
    """The whole verdict of a pass."""
    assert integrity.extents(WHOLE, limit()) == verdict(
        Word.PASS,
        measured="7 tensors inside 1 file",
        required="every tensor inside its file",
        value=0.0,
        unit="count",
        evidence=(READ,),
    )


def test_a_cut_shard_fails_with_what_it_has_and_needs():
    """Sizes, share, missing bytes and the first tensor outside are in one sentence."""
    found = integrity.extents(with_shard(have_bytes=2_500, outside_count=3, first_outside="blk.1.x"), limit())
    assert (found.word, found.value, bool(found.fix)) == (Word.FAIL, 1.0, True)
    assert found.cause == ("m.gguf has 2.4 KiB of 9.8 KiB (25.0 %, 7500 bytes missing; first tensor outside: blk.1.x)")


@pytest.mark.parametrize(
    ("have", "told"),
    [(2**32 - 1, "the largest file of FAT32"), (2**32, ""), (2**32 - 2, ""), (2**31 - 1, "32-bit file offsets")],
)
def test_a_shard_cut_at_a_limit_of_others_names_it(have, told):
    """One at exactly 4294967295 bytes has been on FAT32."""
    found = integrity.extents(with_shard(need_bytes=2**33, have_bytes=have, outside_count=1), limit())
    assert found.word is Word.FAIL
    assert ("exactly" in found.cause, told in found.cause) == (bool(told), True)


@pytest.mark.parametrize(("hole", "word"), [(0, Word.PASS), (99, Word.PASS), (100, Word.FAIL), (9_000, Word.FAIL)])
def test_what_was_never_written_fails_from_one_percent_on(hole, word):
    """A preallocated download has large holes; a row of zeros that a sparse copy skipped is only mentioned."""
    found = integrity.extents(with_shard(hole_bytes=hole, first_hole_bytes=4096 if hole else None), limit())
    assert found.word is word
    assert ("never written" in found.cause) == (word is Word.FAIL)
    assert found.evidence == (*(("holes=m.gguf: 99 bytes read as zeros",) if hole == 99 else ()), READ)


@pytest.mark.parametrize(
    ("change", "note"),
    [
        ({"trailing_bytes": 5}, "trailing=m.gguf: 5 bytes behind its tensors belong to no tensor"),
        (
            {"trailing_bytes": 9_000, "trailing_magic": True},
            "trailing=m.gguf: another GGUF follows its tensors, joined with cat?",
        ),
    ],
)
def test_bytes_behind_the_tensors_are_mentioned(change, note):
    """Engines ignore them."""
    found = integrity.extents(with_shard(**change), limit())
    assert (found.word, found.evidence) == (Word.PASS, (note, READ))


def test_a_file_cut_inside_its_header_fails():
    """It is as truncated as any."""
    found = integrity.extents(replace(WHOLE, cut=("n.gguf: byte 9: cut",)), limit())
    assert (found.word, found.measured) == (Word.FAIL, "1 of 2 shards cut short")


def test_a_header_that_cannot_be_read_leaves_the_question_open():
    """What is no GGUF does not tell where its tensors would end; another shard's cut still fails."""
    unread = replace(WHOLE, unread=("n.gguf: byte 0: magic",))
    assert integrity.extents(unread, limit()).word is Word.ERROR
    cut = replace(unread, shards=(replace(SHARD, have_bytes=1, outside_count=1),))
    assert integrity.extents(cut, limit()).word is Word.FAIL


BAD = EndReads(extents_count=3, read_count=1, failed_byte=8191, error="EIO")


def test_a_read_error_fails_with_shard_and_byte():
    """The drive is the cause, so the remedy is another one."""
    found = integrity.extents(with_shard(ends=BAD), limit())
    assert (found.word, found.measured) == (Word.FAIL, "1 of 1 shard with a read error")
    assert found.cause.startswith("m.gguf cannot be read at byte 8191, the end of a stretch on its disk: EIO")
    assert found.fix[0].startswith("sudo dmesg")
    assert found.evidence == ("ends_read=1 of 3 extents",)


def test_a_cut_shard_beside_a_read_error_has_both_remedies():
    """Each fault is named once."""
    cut = replace(SHARD, name="n.gguf", have_bytes=2_500, outside_count=3, first_outside="blk.1.x")
    found = integrity.extents(replace(WHOLE, shards=(replace(SHARD, ends=BAD), cut)), limit())
    assert found.measured == "1 of 2 shards cut short; 1 of 2 shards with a read error"
    assert (found.value, len(found.fix)) == (2.0, 4)
