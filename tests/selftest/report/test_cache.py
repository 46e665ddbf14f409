"""The page cache as text."""

from dataclasses import replace

import pytest

from streamworthy.facts.cache import CacheMap, Hold, LayerCache, RangeResidency, ShardCache, WarmUp
from streamworthy.facts.episode import Residency
from streamworthy.facts.memory import MemlockFacts
from streamworthy.facts.tensor_kinds import TensorKind
from streamworthy.report.cache import format_cache, format_hold, format_warm_up

GIB = 2**30


def part(resident, total=GIB, evicted=0):
    """Make a residency."""
    return RangeResidency(resident_bytes=resident, total_bytes=total, evicted_bytes=evicted)


def layer(number, every, experts):
    """Make a layer."""
    return LayerCache(layer=number, every_token=part(every), experts=None if experts is None else part(experts))


FOUND = CacheMap(
    shards=(
        ShardCache(name="a.gguf", whole=part(GIB), method="cachestat"),
        ShardCache(name="b.gguf", whole=part(0, evicted=None), method="mincore"),
    ),
    kinds=((TensorKind.DENSE, part(GIB)), (TensorKind.ROUTED, part(GIB // 4))),
    layers=(layer(0, GIB, None), layer(1, GIB, 0), layer(2, GIB, 0), layer(3, GIB, GIB // 2), layer(5, GIB, GIB // 2)),
    layout_unknown="",
    sampled=False,
)


def test_the_three_tables():
    """Layers that read alike and follow each other are one line; one that cannot tell evictions has a dash."""
    assert list(format_cache(FOUND)) == [
        "shard      size  resident    share  lately evicted  asked by",
        "a.gguf  1.0 GiB   1.0 GiB  100.0 %             0 B  cachestat",
        "b.gguf  1.0 GiB       0 B    0.0 %               -  mincore",
        "all     2.0 GiB   1.0 GiB   50.0 %               -",
        "",
        "kind               size   resident    share",
        "dense           1.0 GiB    1.0 GiB  100.0 %",
        "routed experts  1.0 GiB  256.0 MiB   25.0 %",
        "",
        "layer  every token  experts",
        "0          100.0 %        -",
        "1-2        100.0 %    0.0 %",
        "3          100.0 %   50.0 %",
        "5          100.0 %   50.0 %",
    ]


def test_an_unknown_layout_and_a_sample_are_said():
    """At the end, where they are seen."""
    lines = list(format_cache(replace(FOUND, kinds=(), layers=(), layout_unknown="no header", sampled=True)))
    assert lines[4] == "which tensors these are is not known: no header"
    assert "estimates" in lines[5]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            0,
            GIB,
            [
                "wanted 1.0 GiB, 0 B were there, read 1.0 GiB at 536.9 MB/s",
                "resident 1.0 GiB, 100.0 % of what was wanted",
            ],
        ),
        (GIB, GIB, ["wanted 1.0 GiB, 1.0 GiB were there, read 0 B", "resident 1.0 GiB, 100.0 % of what was wanted"]),
        (
            0,
            GIB // 2,
            [
                "wanted 1.0 GiB, 0 B were there, read 1.0 GiB at 536.9 MB/s",
                "resident 512.0 MiB, 50.0 % of what was wanted",
            ],
        ),
    ],
)
def test_warming(before, after, said):
    """A rate only of what was read."""
    done = WarmUp(wanted_bytes=GIB, before_bytes=before, read_bytes=GIB - before, after_bytes=after, seconds=2.0)
    assert list(format_warm_up(done)) == said


def test_holding_a_part():
    """How much of what was wanted, and its effect."""
    before = MemlockFacts(
        process="self", soft_bytes=0, hard_bytes=0, capable=False, confined=False, locked_bytes=0, need_bytes=GIB
    )
    held = Hold(
        wanted_bytes=GIB,
        held_bytes=GIB // 4,
        limit_bytes=GIB // 4,
        locked_before=before,
        locked_after=replace(before, locked_bytes=GIB // 4),
        before=Residency(resident_bytes=0, total_bytes=GIB, method="cachestat"),
        after=Residency(resident_bytes=GIB // 2, total_bytes=GIB, method="cachestat"),
    )
    assert list(format_hold(held)) == [
        "holding  256.0 MiB, 25.0 % of the 1.0 GiB that every token reads",
        "VmLck    0 B -> 256.0 MiB",
        "resident 0.0 % -> 50.0 % (cachestat)",
    ]
