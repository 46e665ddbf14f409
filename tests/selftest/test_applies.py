"""Which tier is chosen: ranges touch without holes, one machine has one tier, and a refusal says why."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamworthy.applies import applying_fix, check_applies, choose_tier
from streamworthy.errors import UsageError
from streamworthy.facts.tier import ApplicabilityFacts
from streamworthy.thresholds import load_tiers

GIB = 2**30
GB = 10**9
TIERS = load_tiers(Path(__file__).parents[2] / "thresholds")
LAPTOP = ApplicabilityFacts(
    memory_total_bytes=31 * GIB,
    memory_available_bytes=27 * GIB,
    model="given",
    weights_bytes=390 * GB,
    architecture="x86_64",
    wsl=False,
)


def machine(total_gib, weights_bytes, **changes):
    """Give a machine with an eighth of its memory in use."""
    total = int(total_gib * GIB)
    facts = replace(
        LAPTOP, memory_total_bytes=total, memory_available_bytes=total * 7 // 8, weights_bytes=weights_bytes
    )
    return replace(facts, **changes)


@pytest.mark.parametrize(
    ("total_gib", "tier"),
    [
        (14, "laptop-16g"),
        (23.3, "laptop-16g"),  # sold as 25 GB
        (27.999, "laptop-16g"),
        (28, "laptop-32g"),
        (46.5, "laptop-32g"),
        (55.999, "laptop-32g"),
        (56, "laptop-64g"),
        (94, "laptop-64g"),
        (111.999, "laptop-64g"),
    ],
)
def test_laptop_ranges_touch(total_gib, tier):
    """Each size from 14 to 112 GiB has the one tier of its range, at both ends of it."""
    assert choose_tier(TIERS, machine(total_gib, 390 * GB)).name == tier


@pytest.mark.parametrize(
    ("total_gib", "weights_gb", "architecture", "tier"),
    [
        (8, 4, "x86_64", "fits-in-ram"),
        (31, 18, "x86_64", "fits-in-ram"),
        (126, 15.9, "x86_64", "fits-in-ram"),
        (126, 16, "x86_64", "xeon-128g"),
        (126, 27.6, "x86_64", "xeon-128g"),
        (126, 27.6, "aarch64", "fits-in-ram"),
        (126, 39.9, "x86_64", "xeon-128g"),
        (126, 40, "x86_64", "fits-in-ram"),
        (223.9, 27.6, "x86_64", "xeon-128g"),
        (224, 27.6, "x86_64", "fits-in-ram"),
        (1000, 390, "x86_64", "fits-in-ram"),
    ],
)
def test_a_model_that_fits_has_a_tier(total_gib, weights_gb, architecture, tier):
    """Weights below the available memory are judged by fits-in-ram, or by xeon-128g where it is meant for them."""
    facts = machine(total_gib, int(weights_gb * GB), architecture=architecture)
    assert choose_tier(TIERS, facts).name == tier


def test_the_available_memory_decides_what_fits():
    """Weights that are exactly as large as the available memory fit; one byte more is streamed."""
    available = LAPTOP.memory_available_bytes
    assert choose_tier(TIERS, replace(LAPTOP, weights_bytes=available)).name == "fits-in-ram"
    assert choose_tier(TIERS, replace(LAPTOP, weights_bytes=available + 1)).name == "laptop-32g"


@given(
    st.integers(1, 2000 * GIB), st.floats(0.01, 1), st.integers(1, 2000 * GB), st.sampled_from(["x86_64", "aarch64"]),
    st.sampled_from(["sample", "given"]),
)  # fmt: skip
def test_no_machine_has_two_tiers_and_holes_are_where_no_tier_was_asked(total, share, weights, architecture, model):
    """A hole is a model above the memory of a machine below 14 GiB or from 112 GiB on; nothing else is one."""
    facts = ApplicabilityFacts(
        memory_total_bytes=total,
        memory_available_bytes=int(total * share),
        model=model,
        weights_bytes=weights,
        architecture=architecture,
        wsl=False,
    )
    fitting = [tier.name for tier in TIERS if not check_applies(tier, facts)]
    above = weights > facts.memory_available_bytes
    hole = model == "given" and above and not 14 * GIB <= total < 112 * GIB
    assert len(fitting) == (0 if hole else 1)
    assert ("sample" in fitting) == (model == "sample")


def test_no_tier_says_why_for_each():
    """A model above the memory of a large server has no tier, and every tier's reason is told."""
    with pytest.raises(UsageError) as caught:
        choose_tier(TIERS, machine(126, 390 * GB))
    text = str(caught.value)
    assert text.splitlines()[0] == ("tier: found none that applies to this machine and model, expected exactly one")
    assert "  laptop-16g: memory total 126.0 GiB is not below 28.0 GiB\n" in text
    assert "  sample: a model was given\n" in text
    assert (
        "  xeon-128g: weights 363.2 GiB do not fit in the 110.2 GiB available and weights 363.2 GiB are not below"
        in text
    )
    assert all(f"  {tier.name}: " in text for tier in TIERS)
    assert "fix: --tier fits-in-ram | laptop-16g" in text


def test_two_tiers_are_named():
    """Two that apply are as bad as none: the choice is the user's."""
    twin = replace(TIERS[1], name="twin")
    with pytest.raises(UsageError) as caught:
        choose_tier((TIERS[1], twin), machine(16, 390 * GB))
    assert caught.value.message == (
        "tier: found 2 (laptop-16g, twin) that applies to this machine and model, expected exactly one\n"
        "  laptop-16g: applies\n  twin: applies"
    )
    assert caught.value.fix.startswith("--tier laptop-16g | twin")


def test_a_named_tier_says_why_it_does_not_apply():
    """The sample tier asked for a given model gives its one reason; one that applies gives none."""
    tiers = {tier.name: tier for tier in TIERS}
    assert check_applies(tiers["sample"], LAPTOP) == ("a model was given",)
    assert check_applies(tiers["laptop-32g"], LAPTOP) == ()


def test_a_missing_architecture_or_size_is_a_reason():
    """What is not known does not fit, and an architecture that is not asked for is named."""
    tiers = {tier.name: tier for tier in TIERS}
    unknown = replace(LAPTOP, weights_bytes=None)
    assert check_applies(tiers["laptop-32g"], unknown) == ("the size of the weights is not known",)
    arm = machine(126, 27 * GB, architecture="aarch64")
    assert check_applies(tiers["xeon-128g"], arm) == ("architecture aarch64 is not one of x86_64",)


@pytest.mark.parametrize(
    ("changes", "fix"),
    [
        ({}, "leave --tier out to see every tier"),
        ({"wsl": True}, "\nmemory=59GB\nthen in Windows: wsl --shutdown\nor leave --tier out"),
        ({"wsl": True, "memory_total_bytes": 130 * GIB}, "leave --tier out to see every tier"),
    ],
)
def test_a_wsl_guest_that_is_too_small_for_its_tier_is_windows_choice(changes, fix):
    """microsoft/WSL#13142: half of the memory is given unless .wslconfig says more."""
    (tier,) = (each for each in TIERS if each.name == "laptop-64g")
    found = applying_fix(tier, replace(LAPTOP, **changes))
    assert fix in found
    assert (".wslconfig" in found) is ("memory=59GB" in fix)
