"""Limits are neither hope nor decoration: the machine a tier is written for meets them, one half as good does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from streamworthy.model import ceiling_tokens_per_second, predict
from streamworthy.thresholds import load_tiers

TIERS = {tier.name: tier for tier in load_tiers(Path(__file__).parents[2] / "thresholds")}
ROOFS = {
    "disk.sequential_read": "disk_bytes_per_second",
    "disk.slab_read": "disk_bytes_per_second",
    "bandwidth.read": "memory_bytes_per_second",
}
STREAMING = ("laptop-16g", "laptop-32g", "laptop-64g")


def halved(reference, *names):
    """Give a reference machine with some of its roofs at half their height."""
    return replace(
        reference, roofs=replace(reference.roofs, **{name: getattr(reference.roofs, name) / 2 for name in names})
    )


def half_as_good(reference):
    """Give half the disk, half the memory bandwidth and half the arithmetic."""
    return halved(reference, "disk_bytes_per_second", "memory_bytes_per_second", "prompt_tokens_per_second")


def misses(tier, reference):
    """List the limits of a tier that a machine is predicted to miss; the ceiling stays the tier's own."""
    found = predict(reference, tier.plan)
    ceiling = ceiling_tokens_per_second(tier.reference.model, tier.reference.roofs, tier.plan.context_tokens)
    checks = {
        ("load.mmap", "at_least"): found.load_bytes_per_second,
        ("load.mmap", "at_most"): -found.load_seconds,
        ("first_token.cold", "at_most"): -found.first_token_cold_seconds,
        ("first_token.warm", "at_most"): -found.first_token_warm_seconds,
        ("prefill.rate", "at_least"): found.prefill_tokens_per_second,
        ("decode.cold_rate", "at_least"): found.decode_cold_tokens_per_second,
        ("decode.warm_rate", "at_least"): found.decode_warm_tokens_per_second,
        ("decode.warm_rate", "at_least_of_ceiling"): found.decode_warm_tokens_per_second / ceiling,
    }
    asked = {key: tier.limits[key[0]].values[key[1]] for key in checks if key[1] in tier.limits[key[0]].values}
    assert {gate for gate, _ in asked} == {gate for gate, _ in checks if tier.limits[gate].level != "not_applicable"}
    signs = {"at_most": -1}
    return {gate for (gate, bound), limit in asked.items() if checks[gate, bound] < limit * signs.get(bound, 1)}


def performance_gates(tier):
    """Name the gates of a tier that have a predicted number."""
    gates = (
        "load.mmap",
        "first_token.cold",
        "first_token.warm",
        "prefill.rate",
        "decode.cold_rate",
        "decode.warm_rate",
    )
    return {gate for gate in gates if tier.limits[gate].level != "not_applicable"}


def test_there_are_six_tiers():
    """The loops below found their files."""
    assert set(TIERS) == {*STREAMING, "xeon-128g", "fits-in-ram", "sample"}


@pytest.mark.parametrize("name", TIERS)
def test_a_machine_that_just_meets_a_tier_reaches_its_limits(name):
    """Disk, memory and bandwidth of [reference] are enough for load, first token and decode of its model."""
    assert misses(TIERS[name], TIERS[name].reference) == set()


@pytest.mark.parametrize("name", TIERS)
def test_a_machine_half_as_good_misses_every_limit(name):
    """Not one of the limits is so low that half the machine is let through."""
    tier = TIERS[name]
    assert misses(tier, half_as_good(tier.reference)) == performance_gates(tier)


@pytest.mark.parametrize("name", STREAMING)
def test_streaming_hangs_on_disk_and_bandwidth_alone(name):
    """With the CPU left whole, half the disk and half the memory bandwidth already miss every limit."""
    tier = TIERS[name]
    half = halved(tier.reference, "disk_bytes_per_second", "memory_bytes_per_second")
    assert misses(tier, half) == performance_gates(tier)


@pytest.mark.parametrize("name", ["xeon-128g", "fits-in-ram", "sample"])
def test_a_model_in_memory_loads_by_its_disk_and_decodes_by_its_memory(name):
    """Half the disk misses the load, half the memory bandwidth misses the warm rate and not the load's."""
    tier = TIERS[name]
    assert "load.mmap" in misses(tier, halved(tier.reference, "disk_bytes_per_second"))
    assert "decode.warm_rate" in misses(tier, halved(tier.reference, "memory_bytes_per_second"))
    assert "decode.warm_rate" not in misses(tier, halved(tier.reference, "disk_bytes_per_second"))


@pytest.mark.parametrize("name", TIERS)
def test_the_memory_asked_for_holds_the_reference_model(name):
    """Dense weights, KV cache and overhead fit in the reference's memory, and all weights where they have to stay."""
    tier = TIERS[name]
    model, roofs = tier.reference.model, tier.reference.roofs
    kept = model.dense_bytes + model.kv_bytes_per_token * tier.plan.context_tokens + model.overhead_bytes
    whole = tier.limits["fit.ledger"].values["weights_in_memory"]
    assert kept + (model.expert_bytes if whole else 0) <= roofs.available_bytes
    assert model.overhead_bytes > tier.limits["fit.ledger"].values["reserve"] or not whole


@pytest.mark.parametrize("name", [*STREAMING, "xeon-128g"])
def test_the_memory_gate_asks_for_the_references_memory(name):
    """The gate and the reference do not drift apart, and the range begins where memory.total does."""
    tier = TIERS[name]
    assert tier.limits["memory.available"].values["at_least"] == tier.reference.roofs.available_bytes
    assert tier.limits["memory.limit"].values["at_least"] == tier.reference.roofs.available_bytes
    assert {way.memory_total_at_least_bytes for way in tier.applies} == {tier.limits["memory.total"].values["at_least"]}


@pytest.mark.parametrize("name", [name for name in TIERS if name != "sample"])
def test_disk_and_memory_gates_ask_for_the_references_roofs(name):
    """What decode's limits are computed from is what is measured without an engine; half of it misses."""
    tier = TIERS[name]
    asked = {gate: limit.values["at_least"] for gate, limit in tier.limits.items() if gate in ROOFS and limit.values}
    assert asked == {gate: getattr(tier.reference.roofs, ROOFS[gate]) for gate in asked}
    assert {"disk.sequential_read", "bandwidth.read"} <= set(asked)
    required = {gate for gate in asked if tier.limits[gate].level == "require"}
    assert required == (set(ROOFS) if name in STREAMING else required & {"bandwidth.read"})


@pytest.mark.parametrize("name", STREAMING)
def test_streaming_requires_the_cost_of_read_ahead_and_advises_on_its_setting(name):
    """A quarter more than is wanted is the most, and the reference stays below it."""
    tier = TIERS[name]
    cost, setting = tier.limits["disk.read_amplification"], tier.limits["storage.read_ahead"]
    assert (cost.level, cost.values["at_most"], setting.level) == ("require", 1.25, "advise")
    assert tier.reference.efficiency.read_amplification_ratio <= cost.values["at_most"]
    assert setting.values["at_most"] * tier.reference.model.slab_bytes >= 128 * 2**10  # what kernels come with


@pytest.mark.parametrize(
    ("name", "slowest", "fastest"),
    [("laptop-16g", 0.02, 0.1), ("laptop-32g", 0.03, 0.1), ("laptop-64g", 0.05, 0.8)],
)
def test_decode_limits_lie_where_machines_have_been(name, slowest, fastest):
    """Public figures for such models: 0.05 to 0.1 tok/s at 24 to 32 GB, 0.13 to 0.8 at 64 to 96 GB, without mmap."""
    assert slowest < TIERS[name].limits["decode.warm_rate"].values["at_least"] < fastest


def test_windows_kept_in_full_make_a_kv_cache_larger_than_the_weights():
    """What xeon-128g is about: at its context the KV cache exceeds the model."""
    tier = TIERS["xeon-128g"]
    assert tier.plan.swa_full
    assert tier.plan.context_tokens == 262_144
    assert tier.plan.lock_bytes == -1
    assert tier.reference.model.kv_bytes_per_token * tier.plan.context_tokens > 2 * tier.reference.model.total_bytes


def test_streaming_tiers_map_and_copy_nothing():
    """They map, do not repack and lock nothing; the sample locks 64 MiB and qualifies nothing."""
    for name in STREAMING:
        plan = TIERS[name].plan
        assert (plan.mmap, plan.repack, plan.lock_bytes) == (True, False, 0)
        assert 512 <= plan.context_tokens <= 4096
    assert TIERS["sample"].plan.lock_bytes == 64 * 2**20
    assert [name for name, tier in TIERS.items() if not tier.deployment] == ["sample"]


@pytest.mark.parametrize("name", TIERS)
def test_a_gate_that_only_advises_does_not_stop_a_run_for_want_of_a_fact(name):
    """Unknown is advice where the fact itself is advice."""
    limits = TIERS[name].limits.values()
    assert [limit.gate for limit in limits if limit.level == "advise" and limit.unknown != "advise"] == []


@pytest.mark.parametrize("name", [name for name in TIERS if name != "sample"])
def test_deployment_requires_known_content(name):
    """Only a hash knows whether a shard of the right size has the right bytes."""
    limit = TIERS[name].limits["integrity.hashes"]
    assert (limit.level, limit.unknown) == ("require", "error")
