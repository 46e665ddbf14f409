"""An inspection as text: what its lines say when memory is short, enough or in between."""

from dataclasses import replace

import pytest

from streamworthy.facts.fit import LedgerFacts, LedgerLine
from streamworthy.facts.inspection import Completeness, Inspection
from streamworthy.facts.shards import SetTotal
from streamworthy.facts.tensor_kinds import KindSizes, TensorKind
from streamworthy.report.ceilings import expected_hit_share, find_ceilings
from streamworthy.report.inspection import cache_bytes, format_inspection, format_kv, format_parameters
from tests.selftest.report.test_ceilings import KV, ROUND, SIZES

GB = 10**9


def line(name, size):
    """Make a line of the ledger."""
    return LedgerLine(name=name, size_bytes=size, basis="")


def inspection(available=100 * GB, *, known=None):
    """Make an inspection of a 400 GB model: 12 GB dense, 8 GB KV cache, 384 GB of experts."""
    ledger = LedgerFacts(
        dense=line("dense weights", 12 * GB),
        experts=line("expert weights", 384 * GB),
        anonymous=(line("KV cache", 8 * GB),),
        available_bytes=available,
        available_basis="MemAvailable",
        partial=False,
        held="",
    )
    complete = Completeness(
        shards_present=7, shards_expected=7, tensors_seen=9, tensors_expected=9, absent=(), unread=(), short=()
    )
    kind = KindSizes(
        kind=TensorKind.ROUTED, tensor_count=9, parameter_count=10**9, size_bytes=10**9, type_bytes=(("Q8_0", 10**9),)
    )
    return Inspection(
        model="glm",
        completeness=known or complete,
        sizes=SIZES,
        kinds=(kind,),
        total=SetTotal(present_bytes=400 * GB, whole_bytes=400 * GB, exact=True, basis=""),
        kv=KV,
        kv_unknown="",
        ledger=ledger,
        ledger_unknown="",
        hit_share_prior=expected_hit_share(SIZES, cache_bytes(ledger)),
        ceilings=find_ceilings(SIZES, KV, ROUND),
        intermediate_bytes=1488 * GB,
    )


def said(found):
    """Give all lines as one text."""
    return "\n".join(format_inspection(found))


@pytest.mark.parametrize(
    ("available", "expected"),
    [
        (19 * GB, "short 953.7 MiB does not fit"),
        (
            20 * GB,
            "left as cache 0 B cache : experts = 0.00x: less than 1.5 tokens' experts, so the hit rate is 0",
        ),
        (100 * GB, "cache : experts = 0.21x: a hit rate near 65.6 %, as published runs had"),
        (404 * GB, "cache : experts = 1.00x: all experts stay in memory"),
    ],
)
def test_what_is_left_decides_what_is_said(available, expected):
    """Dense weights and KV cache take 20 GB: below, at, and above."""
    assert expected in " ".join(said(inspection(available)).split())


def test_a_partial_set_marks_its_bounds_and_names_three_of_many():
    """Sums are at least, the cache is at most; the ratio has no prediction."""
    known = Completeness(
        shards_present=1,
        shards_expected=7,
        tensors_seen=3,
        tensors_expected=9,
        absent=tuple(f"glm-{number}" for number in range(2, 8)),
        unread=(),
        short=(),
    )
    text = said(inspection(known=known))
    assert "3 of 9 tensors seen, 1 of 7 shards are there" in text
    assert "glm-4\n              and 3 more" in text
    assert ">= 372.5 GiB in 7 files" in text
    assert "<= 74.5 GiB  cache : experts = <= 0.21x\n" in text


@pytest.mark.parametrize(("seen", "expected", "partial"), [(9, 9, False), (8, 9, True), (9, None, False)])
def test_seeing_all_tensors_makes_a_set_whole(seen, expected, partial):
    """Below, at, and where nobody says how many there are."""
    known = Completeness(
        shards_present=1,
        shards_expected=1,
        tensors_seen=seen,
        tensors_expected=expected,
        absent=(),
        unread=(),
        short=(),
    )
    assert known.partial is partial


def test_windows_and_states_are_kept_apart():
    """They do not grow with the context."""
    assert format_kv(replace(KV, full_bytes=4096 * 1024, window_bytes=2**20, basis="windows")) == (
        "1.0 KiB a token and 1.0 MiB in windows and states, 5.0 MiB at 4096 tokens (f16, windows)"
    )


@pytest.mark.parametrize(
    ("count", "text"),
    [(7, "7"), (1500, "1.5 k"), (134_515_008, "134.5 M"), (744 * 10**9, "744.0 B"), (10**12, "1.0 T")],
)
def test_parameters_are_written_as_model_cards_do(count, text):
    """Decimal prefixes, B for billions."""
    assert format_parameters(count) == text
