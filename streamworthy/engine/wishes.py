"""What is asked of llama.cpp, as assignments to its parameter structs. Pure.

Fields were renamed across versions: ``use_mmap`` and ``use_mlock`` became ``load_mode`` (llama.cpp pull request
20834). ctypes lets a name that is not a field be set on a struct, and nothing happens: so every wish is looked up
among the struct's fields first, and one that has no field is an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streamworthy.engine.remedies import UPGRADE
from streamworthy.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from streamworthy.facts.plan import EnginePlan

KV_TYPES = {"f32": 0, "f16": 1, "q4_0": 2, "q4_1": 3, "q5_0": 6, "q5_1": 7, "q8_0": 8, "iq4_nl": 20, "bf16": 30}
LOCK_ALL = -1  # EnginePlan.lock_bytes: the engine locks the weights itself
_LOAD_MODES = {(False, False): "NONE", (True, False): "MMAP", (False, True): "MLOCK", (True, True): "MMAP_MLOCK"}


def model_assignments(plan: EnginePlan, fields: Collection[str], constants: Mapping[str, int]) -> dict[str, Any]:
    """Give the model parameters to set. ``constants`` are the binding's ``LLAMA_*`` numbers.

    Raises EngineError that names a wish for which this engine has no field.
    """
    wishes: dict[str, tuple[dict[str, Any], str]] = {
        **_load_wishes(plan, fields, constants),
        "repack": ({"use_extra_bufts": plan.repack}, "use_extra_bufts"),
        "CPU only": ({"n_gpu_layers": 0}, "n_gpu_layers"),
    }
    return _fulfil(wishes, fields)


def _load_wishes(
    plan: EnginePlan, fields: Collection[str], constants: Mapping[str, int]
) -> dict[str, tuple[dict[str, Any], str]]:
    lock = plan.lock_bytes == LOCK_ALL
    if "load_mode" not in fields:
        return {
            "mmap": ({"use_mmap": plan.mmap}, "load_mode or use_mmap"),
            "mlock": ({"use_mlock": lock}, "load_mode or use_mlock"),
            # on by default from December 2025 to January 2026, where it won over mmap (pull requests 18166, 19109)
            **({"no direct I/O": ({"use_direct_io": False}, "")} if "use_direct_io" in fields else {}),
        }
    name = f"LLAMA_LOAD_MODE_{_LOAD_MODES[plan.mmap, lock]}"
    if name not in constants:
        raise EngineError(f"engine: this build has no {name}, expected it beside the field load_mode", fix=UPGRADE)
    return {"mmap and mlock": ({"load_mode": constants[name]}, "load_mode")}


def numa_strategy(plan: EnginePlan, constants: Mapping[str, int]) -> int | None:
    """Give the number for llama_numa_init; None where nothing is asked. EngineError for a mode that is not known."""
    if plan.numa == "disabled":
        return None
    name = f"GGML_NUMA_STRATEGY_{plan.numa.upper()}"
    if name not in constants:
        raise EngineError(f"engine: this build cannot be asked for numa: it has no {name}", fix=UPGRADE)
    return constants[name]


def context_assignments(plan: EnginePlan, threads: int, fields: Collection[str]) -> dict[str, Any]:
    """Give the context parameters to set; raises EngineError as model_assignments does."""
    kv = KV_TYPES.get(plan.kv_type)
    if kv is None:
        known = ", ".join(KV_TYPES)
        raise EngineError(f"engine: kv_type: found {plan.kv_type!r}, expected one of {known}", fix="edit the tier file")
    wishes: dict[str, tuple[dict[str, Any], str]] = {
        "context": ({"n_ctx": plan.context_tokens}, "n_ctx"),
        "batch": ({"n_batch": plan.batch_tokens}, "n_batch"),
        "ubatch": ({"n_ubatch": plan.ubatch_tokens}, "n_ubatch"),
        "parallel slots": ({"n_seq_max": plan.parallel_slots}, "n_seq_max"),
        "threads": ({"n_threads": threads, "n_threads_batch": threads}, "n_threads, n_threads_batch"),
        "KV type": ({"type_k": kv, "type_v": kv}, "type_k, type_v"),
        "full sliding-window cache": ({"swa_full": plan.swa_full}, "swa_full"),
        # a build for GPUs sends large products there although no layer is; older builds have neither field
        **{name: ({name: False}, name) for name in ("op_offload", "offload_kqv") if name in fields},
    }
    return _fulfil(wishes, fields)


def _fulfil(wishes: Mapping[str, tuple[dict[str, Any], str]], fields: Collection[str]) -> dict[str, Any]:
    for wish, (values, names) in wishes.items():
        if not set(values) <= set(fields):
            raise EngineError(f"engine: this build cannot be asked for {wish}: it has no field {names}", fix=UPGRADE)
    return {name: value for values, _ in wishes.values() for name, value in values.items()}
