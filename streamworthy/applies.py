"""Which tier is for this machine and model: exactly one has to apply, or every tier says why it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.criteria.wsl import give_memory
from streamworthy.errors import UsageError
from streamworthy.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamworthy.facts.tier import ApplicabilityFacts, Applies
    from streamworthy.thresholds import Tier

_MODELS = {"sample": "the sample model is used", "given": "a model was given"}


def choose_tier(tiers: Sequence[Tier], facts: ApplicabilityFacts) -> Tier:
    """Give the one tier that applies; UsageError with each tier's reasons when none or several do."""
    reasons = {tier.name: check_applies(tier, facts) for tier in tiers}
    fitting = [tier for tier in tiers if not reasons[tier.name]]
    if len(fitting) == 1:
        return fitting[0]
    count = "none" if not fitting else f"{len(fitting)} ({', '.join(tier.name for tier in fitting)})"
    lines = [f"tier: found {count} that applies to this machine and model, expected exactly one"]
    lines += [f"  {name}: {'; or '.join(why) if why else 'applies'}" for name, why in reasons.items()]
    names = " | ".join(tier.name for tier in fitting or tiers)
    raise UsageError("\n".join(lines), fix=f"--tier {names}, or --tier FILE with limits of your own")


def check_applies(tier: Tier, facts: ApplicabilityFacts) -> tuple[str, ...]:
    """Say why a tier does not apply, one reason for each of its alternatives; empty when it applies."""
    reasons = []
    for alternative in tier.applies:
        missed = _missed(alternative, facts)
        if not missed:
            return ()
        reasons.append(" and ".join(missed))
    return tuple(dict.fromkeys(reasons))


def applying_fix(tier: Tier, facts: ApplicabilityFacts) -> str:
    """Say what to do about a tier that was asked for and does not apply; Windows gives WSL half of the memory."""
    least = [each.memory_total_at_least_bytes or 0 for each in tier.applies]
    need = min(least, default=0)
    if facts.wsl and facts.memory_total_bytes < need:
        return "\n".join((*give_memory(need), "or leave --tier out to see every tier"))
    return "leave --tier out to see every tier"


def _missed(asked: Applies, facts: ApplicabilityFacts) -> list[str]:
    missed = []
    total, low, below = facts.memory_total_bytes, asked.memory_total_at_least_bytes, asked.memory_total_below_bytes
    if low is not None and total < low:
        missed.append(f"memory total {format_bytes(total)} is not at least {format_bytes(low)}")
    if below is not None and total >= below:
        missed.append(f"memory total {format_bytes(total)} is not below {format_bytes(below)}")
    if asked.model is not None and asked.model != facts.model:
        missed.append(_MODELS[facts.model])
    if asked.architecture is not None and facts.architecture not in asked.architecture:
        missed.append(f"architecture {facts.architecture} is not one of {', '.join(asked.architecture)}")
    return missed + _missed_weights(asked, facts)


def _missed_weights(asked: Applies, facts: ApplicabilityFacts) -> list[str]:
    if asked.weights is None and asked.weights_at_least_bytes is None and asked.weights_below_bytes is None:
        return []
    weights, available = facts.weights_bytes, facts.memory_available_bytes
    if weights is None:
        return ["the size of the weights is not known"]
    missed = []
    if asked.weights == "above_memory" and weights <= available:
        missed.append(f"weights {format_bytes(weights)} fit in the {format_bytes(available)} available")
    if asked.weights == "below_memory" and weights > available:
        missed.append(f"weights {format_bytes(weights)} do not fit in the {format_bytes(available)} available")
    if asked.weights_at_least_bytes is not None and weights < asked.weights_at_least_bytes:
        missed.append(f"weights {format_bytes(weights)} are not at least {format_bytes(asked.weights_at_least_bytes)}")
    if asked.weights_below_bytes is not None and weights >= asked.weights_below_bytes:
        missed.append(f"weights {format_bytes(weights)} are not below {format_bytes(asked.weights_below_bytes)}")
    return missed
