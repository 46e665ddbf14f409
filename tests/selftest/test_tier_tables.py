"""The tables of a tier that are no gates become whole records; their faults are tried with fixtures/tiers."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from streamworthy.facts.tier import Applies, Efficiency, ModelBytes, Reference, Roofs
from streamworthy.schema import Faults
from streamworthy.tier_tables import read_applies, read_plan, read_reference

SAMPLE = tomllib.loads((Path(__file__).parents[2] / "thresholds" / "sample.toml").read_text(encoding="utf-8"))


def read(reader, table):
    """Read a table that is sound."""
    faults = Faults("sample.toml")
    found = reader(table, faults)
    assert faults.lines == []
    return found


def test_the_reference_becomes_roofs_efficiency_and_model():
    """Whole record of the sample's reference."""
    assert read(read_reference, SAMPLE["reference"]) == Reference(
        roofs=Roofs(
            disk_bytes_per_second=250e6,
            memory_bytes_per_second=3e9,
            prompt_tokens_per_second=100,
            available_bytes=512 * 2**20,
        ),
        efficiency=Efficiency(
            load_share=0.6,
            mmap_share=0.3,
            memory_share=0.4,
            serial_share=0.8,
            read_amplification_ratio=1.25,
            start_seconds=1,
        ),
        model=ModelBytes(
            total_bytes=225e6,
            dense_bytes=12.8e6,
            expert_bytes=212.2e6,
            expert_count=64,
            expert_used_count=4,
            slab_bytes=138_240,
            kv_bytes_per_token=4096,
            overhead_bytes=100e6,
        ),
        reason=" ".join(SAMPLE["reference"]["reason"].split()),
    )


def test_a_condition_that_is_not_given_is_not_asked():
    """Whole record of an alternative with every condition, and of one with a single one."""
    every = {
        "memory_total_at_least": "1 GiB",
        "memory_total_below": "2 GiB",
        "model": "given",
        "weights": "above_memory",
        "architecture": ["x86_64"],
        "weights_at_least": "1 GB",
        "weights_below": "2 GB",
        "reason": "a test",
    }
    full = Applies(
        memory_total_at_least_bytes=2**30,
        memory_total_below_bytes=2**31,
        model="given",
        weights="above_memory",
        architecture=("x86_64",),
        weights_at_least_bytes=10**9,
        weights_below_bytes=2 * 10**9,
        reason="a test",
    )
    nothing = dict.fromkeys(Applies.__dataclass_fields__)
    single = Applies(**(nothing | {"model": "sample", "reason": "a test"}))
    assert read(read_applies, [every, {"model": "sample", "reason": "a test"}]) == (full, single)


@pytest.mark.parametrize(("lock", "lock_bytes"), [("nothing", 0), ("weights", -1), ("64 MiB", 64 * 2**20)])
def test_what_is_locked_is_a_number_of_bytes(lock, lock_bytes):
    """Nothing, all weights, or a region of a size."""
    plan = read(read_plan, SAMPLE["engine"])
    assert read(read_plan, SAMPLE["engine"] | {"lock": lock}) == replace(plan, lock_bytes=lock_bytes)


@pytest.mark.parametrize(("threads", "count"), [("physical", None), (6, 6)])
def test_threads_are_the_machines_or_a_number(threads, count):
    """The physical cores are counted where the engine runs."""
    assert read(read_plan, SAMPLE["engine"] | {"threads": threads}).threads == count
