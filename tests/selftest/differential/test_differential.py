"""Every mutated set through the real engine and through the gates: where they disagree, a reason is written down."""

from collections import Counter

import pytest

from tests.selftest.differential.cases import CASES
from tests.selftest.differential.table import run_all
from tests.selftest.gguf.test_kv_cache_engine import needs_engine


def test_the_table_has_cases_of_every_family():
    """A generator that writes nothing would agree with everything."""
    families = Counter(case.family for case in CASES.values())
    assert len(CASES) > 700
    assert len(families) >= 18


def test_reasons_are_few():
    """A set that the engine loads fails only for a reason on this list."""
    assert len({case.because for case in CASES.values() if case.because}) <= 10
    assert sum(bool(case.engine_only) for case in CASES.values()) <= 1


@pytest.mark.slow
def test_engine_and_gates_agree(tmp_path):
    """What the engine refuses or dies from fails with its cause; what it runs passes; a manifest finds all bytes."""
    needs_engine()
    rows = run_all(tmp_path, list(CASES.values()))
    assert {f"{row.case.family}: {row.case.name}": row.problem for row in rows if row.problem} == {}
    assert sum(row.engine == "runs" for row in rows) > 100
