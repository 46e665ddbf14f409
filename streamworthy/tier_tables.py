"""The tables of a tier file that are no gates: where it applies, its reference, and what the engine is asked to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streamworthy.criteria.spec import optional, required
from streamworthy.facts.plan import EnginePlan
from streamworthy.facts.tier import Applies, Efficiency, ModelBytes, Reference, Roofs
from streamworthy.schema import TEXT, choice, either, read_table
from streamworthy.units import (
    BYTES,
    BYTES_PER_SECOND,
    COUNT,
    FLAG,
    RATIO,
    SECONDS,
    SHARE,
    TOKENS_PER_SECOND,
    WORDS,
)

if TYPE_CHECKING:
    from streamworthy.schema import Faults

LOCK_WEIGHTS = -1  # EnginePlan.lock_bytes: the engine's own mlock over all weights

_APPLIES = {
    "memory_total_at_least": optional(BYTES),
    "memory_total_below": optional(BYTES),
    "model": optional(choice("sample", "given")),
    "weights": optional(choice("above_memory", "below_memory")),
    "architecture": optional(WORDS),
    "weights_at_least": optional(BYTES),
    "weights_below": optional(BYTES),
    "reason": required(TEXT),
}
_REFERENCE = {
    "disk_read": required(BYTES_PER_SECOND),
    "memory_read": required(BYTES_PER_SECOND),
    "memory_available": required(BYTES),
    "prompt_compute": required(TOKENS_PER_SECOND),
    "reason": required(TEXT),
}
_EFFICIENCY = {
    "load": required(SHARE),
    "mmap": required(SHARE),
    "memory": required(SHARE),
    "serial": required(SHARE),
    "read_amplification": required(RATIO),
    "start": required(SECONDS),
    "reason": required(TEXT),
}
_MODEL = {
    "total_bytes": required(BYTES),
    "dense_bytes": required(BYTES),
    "expert_bytes": required(BYTES),
    "experts": required(COUNT),
    "experts_used": required(COUNT),
    "slab_bytes": required(BYTES),
    "kv_bytes_per_token": required(BYTES),
    "overhead_bytes": required(BYTES),
    "reason": required(TEXT),
}
_ENGINE = {
    "context_tokens": required(COUNT),
    "prompt_tokens": required(COUNT),
    "decode_tokens": required(COUNT),
    "threads": required(either(COUNT, {"physical": None})),
    "batch_tokens": required(COUNT),
    "ubatch_tokens": required(COUNT),
    "mmap": required(FLAG),
    "repack": required(FLAG),
    "lock": required(either(BYTES, {"nothing": 0, "weights": LOCK_WEIGHTS})),
    "kv_type": required(choice("f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")),
    "swa_full": required(FLAG),
    "parallel_slots": required(COUNT),
    "prompt_cache": required(BYTES),
    "numa": required(choice("disabled", "distribute", "isolate", "numactl")),
    "reason": required(TEXT),
}
_LEAST = {"context_tokens": 256, "prompt_tokens": 1, "decode_tokens": 2, "ubatch_tokens": 1, "parallel_slots": 1}


def read_applies(tables: object, faults: Faults) -> tuple[Applies, ...]:
    """Read the ``[[applies]]`` array; at least one alternative, each with at least one condition."""
    if not isinstance(tables, list) or not tables:
        faults.add("[[applies]]", found=tables, expected="at least one [[applies]] table")
        return ()
    return tuple(_read_alternative(table, f"applies.{number}", faults) for number, table in enumerate(tables, 1))


def _read_alternative(table: object, key: str, faults: Faults) -> Applies:
    values = read_table(table, _APPLIES, key=key, faults=faults)
    given = _raw(table)
    if given and not given.keys() & (_APPLIES.keys() - {"reason"}):
        faults.add(f"[{key}]", found=None, expected="at least one condition, or the tier applies everywhere")
    for low, below in (("memory_total_at_least", "memory_total_below"), ("weights_at_least", "weights_below")):
        if low in values and below in values and values[low] >= values[below]:
            faults.add(f"[{key}] {below}", found=given[below], expected=f"more than {low}, {given[low]!r}")
    return Applies(
        memory_total_at_least_bytes=values.get("memory_total_at_least"),
        memory_total_below_bytes=values.get("memory_total_below"),
        model=values.get("model"),
        weights=values.get("weights"),
        architecture=values.get("architecture"),
        weights_at_least_bytes=values.get("weights_at_least"),
        weights_below_bytes=values.get("weights_below"),
        reason=values.get("reason", ""),
    )


def read_reference(table: object, faults: Faults) -> Reference | None:
    """Read ``[reference]`` with its tables ``efficiency`` and ``model``; None when a fault was noted."""
    before = len(faults.lines)
    given = _raw(table)
    own = {key: value for key, value in given.items() if key not in ("efficiency", "model")} if given else table
    roofs = read_table(own, _REFERENCE, key="reference", faults=faults)
    shares = read_table(given.get("efficiency"), _EFFICIENCY, key="reference.efficiency", faults=faults)
    model = read_table(given.get("model"), _MODEL, key="reference.model", faults=faults)
    _check_zero(roofs, own, "reference", faults)
    _check_zero(shares, given.get("efficiency"), "reference.efficiency", faults)
    _check_model(model, _raw(given.get("model")), faults)
    if len(faults.lines) > before:
        return None
    return Reference(
        roofs=Roofs(
            disk_bytes_per_second=roofs["disk_read"],
            memory_bytes_per_second=roofs["memory_read"],
            prompt_tokens_per_second=roofs["prompt_compute"],
            available_bytes=roofs["memory_available"],
        ),
        efficiency=Efficiency(
            load_share=shares["load"],
            mmap_share=shares["mmap"],
            memory_share=shares["memory"],
            serial_share=shares["serial"],
            read_amplification_ratio=shares["read_amplification"],
            start_seconds=shares["start"],
        ),
        model=ModelBytes(
            total_bytes=model["total_bytes"],
            dense_bytes=model["dense_bytes"],
            expert_bytes=model["expert_bytes"],
            expert_count=model["experts"],
            expert_used_count=model["experts_used"],
            slab_bytes=model["slab_bytes"],
            kv_bytes_per_token=model["kv_bytes_per_token"],
            overhead_bytes=model["overhead_bytes"],
        ),
        reason=roofs["reason"],
    )


def _raw(table: object) -> dict[str, Any]:
    return table if isinstance(table, dict) else {}


def _check_zero(values: dict[str, Any], table: object, key: str, faults: Faults) -> None:
    for name, value in values.items():
        if value == 0:
            faults.add(f"[{key}] {name}", found=_raw(table)[name], expected="more than zero")


def _check_model(model: dict[str, Any], given: dict[str, Any], faults: Faults) -> None:
    if len(model) < len(_MODEL):
        return
    if model["dense_bytes"] + model["expert_bytes"] > model["total_bytes"]:
        expected = "no less than dense_bytes + expert_bytes"
        faults.add("[reference.model] total_bytes", found=given["total_bytes"], expected=expected)
    if model["experts_used"] > model["experts"]:
        faults.add("[reference.model] experts_used", found=model["experts_used"], expected="no more than experts")


def read_plan(table: object, faults: Faults) -> EnginePlan | None:
    """Read ``[engine]``; None when a fault was noted."""
    before = len(faults.lines)
    values = read_table(table, _ENGINE, key="engine", faults=faults)
    for name, least in _LEAST.items():
        if values.get(name, least) < least:
            faults.add(f"[engine] {name}", found=values[name], expected=f"at least {least}")
    if len(faults.lines) > before:
        return None
    _check_plan(values, faults)
    values["lock_bytes"] = int(values.pop("lock"))
    values["prompt_cache_bytes"] = int(values.pop("prompt_cache"))
    del values["reason"]
    return EnginePlan(**values)


def _check_plan(values: dict[str, Any], faults: Faults) -> None:
    if values["prompt_tokens"] + values["decode_tokens"] > values["context_tokens"]:
        faults.add(
            "[engine] context_tokens",
            found=values["context_tokens"],
            expected="no less than prompt_tokens + decode_tokens",
        )
    if values["ubatch_tokens"] > values["batch_tokens"]:
        faults.add("[engine] ubatch_tokens", found=values["ubatch_tokens"], expected="no more than batch_tokens")
    if values["threads"] == 0:
        faults.add("[engine] threads", found=0, expected="'physical' or at least 1")
