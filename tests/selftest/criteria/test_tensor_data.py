"""What is said of damage in tensor data, through the gate's criterion."""

from dataclasses import replace
from pathlib import Path

import pytest

from streamworthy.criteria import integrity
from streamworthy.facts.integrity import BrokenTensor, TensorScan, ZeroRun
from streamworthy.verdict import Word, verdict
from tests.selftest.criteria.asked import limit

SHARD = Path("/models/m-00002-of-00003.gguf")
REQUIRED = "no NaN, no infinity, no range left out"
WHOLE = TensorScan(
    tensor_count=1014,
    tensor_bytes=390 * 10**9,
    looked_bytes=390 * 10**9,
    place_count=None,
    stride_bytes=None,
    least_blocks_count=None,
    broken=(),
    zero_runs=(),
    unchecked=(),
    unread=(),
    seconds=130.0,
)
SAMPLE = replace(
    WHOLE, looked_bytes=390 * 10**6, place_count=20_000, stride_bytes=32 * 2**20, least_blocks_count=624, seconds=2.0
)
BROKEN = BrokenTensor(
    path=SHARD,
    name="blk.3.ffn_up_exps.weight",
    type_name="Q4_K",
    broken_count=12,
    looked_count=904,
    first_offset_bytes=123_456,
)
RUN = ZeroRun(
    path=SHARD,
    offset_bytes=2**20,
    size_bytes=5 * 2**20,
    exact=True,
    tensor="blk.3.ffn_up_exps.weight",
    inside_row=False,
    touched_count=1,
    whole_count=0,
)


def judge(scan):
    """Ask the gate."""
    return integrity.tensors(scan, limit())


def with_run(**changes):
    """A scan that found one run."""
    return replace(WHOLE, zero_runs=(replace(RUN, **changes),))


def test_all_was_looked_at():
    """The whole verdict of a pass at depth full."""
    assert judge(WHOLE) == verdict(
        Word.PASS,
        measured="0 faults in 1014 tensors, looked at all 363.2 GiB",
        required=REQUIRED,
        value=0.0,
        unit="count",
        evidence=("coverage=all 363.2 GiB",),
    )


def test_a_sample_says_what_it_covers_and_what_it_finds():
    """A pass of a sample is not the pass of all: the numbers stand beside it."""
    found = judge(SAMPLE)
    assert (found.word, found.measured) == (Word.PASS, "0 faults in 1014 tensors, looked at 0.1 % of 363.2 GiB")
    coverage, chances = found.evidence
    assert coverage == "coverage=0.1 % of 363.2 GiB in 20000 places, every tensor"
    assert chances == (
        "finds=1.0 % of a tensor's blocks broken here and there, in 99.8 % of cases; a damaged run of 64.0 MiB surely,"
        " of 1.0 MiB in 3.1 %; --depth full reads everything"
    )


def test_a_sample_that_was_stopped_promises_less():
    """On a slow disk the time ends it; no run of any length is found surely then."""
    told = judge(replace(SAMPLE, stride_bytes=None)).evidence[1]
    assert "stopped by its time" in told
    assert "surely" not in told


def test_a_broken_tensor_fails_with_its_place():
    """Shard, tensor, type, how much of it, and the first byte, with what tells a bad copy from a bad upload."""
    found = judge(replace(SAMPLE, broken=(BROKEN,)))
    assert (found.word, found.value) == (Word.FAIL, 1.0)
    assert found.cause == (
        "m-00002-of-00003.gguf: blk.3.ffn_up_exps.weight (Q4_K): 12 of 904 blocks looked at hold NaN or infinity, the"
        " first at byte 123456"
    )
    assert found.fix[0].startswith("streamworthy verify /models/m-00002-of-00003.gguf ")
    assert "another quantisation" in found.fix[1]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({}, Word.PASS),
        ({"size_bytes": 10**9}, Word.PASS),
        ({"touched_count": 2}, Word.PASS),
        ({"whole_count": 1}, Word.ADVICE),
        ({"inside_row": True}, Word.FAIL),
        ({"exact": False}, Word.FAIL),
        ({"whole_count": 1, "touched_count": 2}, Word.FAIL),
        ({"whole_count": 2, "touched_count": 2}, Word.FAIL),
    ],
)
def test_zeros_by_how_they_lie(change, word):
    """Whole rows are normal, one matrix is worth a look, a row cut in two or several matrices were never written."""
    found = judge(with_run(**change))
    assert found.word is word
    assert bool(found.fix) == (word is not Word.PASS)
    assert bool(found.cause) == (word is not Word.PASS)


def test_zero_rows_are_mentioned():
    """They pass, and are listed."""
    assert judge(with_run()).evidence[-1] == (
        "zeros=m-00002-of-00003.gguf: 5.0 MiB of zero rows in blk.3.ffn_up_exps.weight: unused or pruned"
    )


def test_a_range_left_out_is_told_with_its_bytes():
    """Size, tensor, place and the likely cause are in one sentence."""
    assert judge(with_run(inside_row=True)).cause == (
        "m-00002-of-00003.gguf: 5.0 MiB of zeros in blk.3.ffn_up_exps.weight, from byte 1048576: allocated and never"
        " downloaded?"
    )
    many = judge(with_run(whole_count=3, touched_count=5, exact=False)).cause
    assert "more than 5.0 MiB of zeros over 5 matrices from blk.3.ffn_up_exps.weight on" in many


def test_a_shard_that_could_not_be_read_leaves_it_open():
    """Unless another is broken already."""
    unread = replace(WHOLE, unread=("m-00003-of-00003.gguf: cannot be read: Input/output error",))
    found = judge(unread)
    assert found.word is Word.ERROR
    assert "Input/output error" in found.cause
    assert found.fix
    assert judge(replace(unread, broken=(BROKEN,))).word is Word.FAIL


def test_types_without_a_known_layout_are_listed():
    """That they are no types of the engine is told by shards.headers."""
    assert "unchecked=type 156" in judge(replace(WHOLE, unchecked=("type 156",))).evidence
