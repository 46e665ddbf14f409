"""Did each wish take effect? Asked of the running engine and of its log, never of the parameters. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streamworthy.engine.remedies import REBUILD
from streamworthy.engine.wishes import LOCK_ALL
from streamworthy.facts.episode import EngineState
from streamworthy.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamworthy.engine.log import LogFacts
    from streamworthy.facts.plan import EnginePlan

_OBEYING = "use an engine build that knows these settings, or change the tier's [engine] table"
_NO_GPU = f"{REBUILD}    # with no GPU in CMAKE_ARGS\nor hide it: CUDA_VISIBLE_DEVICES= ROCR_VISIBLE_DEVICES="
_LOCK = (
    "raise 'memlock' for this user in /etc/security/limits.conf, or LimitMEMLOCK of the service: see memory.memlock\n"
    'or lock = "nothing" in the tier\'s [engine] table'
)
_LOCKED_SHARE = 0.98  # the engine locks from the first tensor to the last, headers stay out


def engine_state(seen: Mapping[str, Any], log: LogFacts) -> EngineState:
    """Join what the child saw of itself with what the engine's log said."""
    return EngineState(
        **seen,
        kv_bytes=log.kv_bytes,
        compute_bytes=log.compute_bytes,
        repack_bytes=log.repack_bytes,
        load_mode=log.load_mode,
        flash_attention=log.flash_attention,
        hint_refused=log.hint_refused,
        unmapped=log.unmapped,
    )


def unfulfilled(
    plan: EnginePlan, state: EngineState, log: LogFacts, *, threads: int, tensor_bytes: int
) -> tuple[str, ...]:
    """List the wishes that did not take effect, one clear line each.

    Whether the weights are mapped is not among them: the gate load.mapped_share judges that by sizes. Nor is a locked
    region beside them, on which no number depends: ``locked_bytes`` tells.
    """
    if not log.load_mode and not log.kv_types:
        return ("the engine's log has no known line (is the scratch folder full?): nothing proves what it was asked",)
    ubatch = min(plan.ubatch_tokens, plan.batch_tokens, state.context_tokens)
    checks = (
        (state.context_tokens >= plan.context_tokens, "context", plan.context_tokens, state.context_tokens),
        (state.threads == threads, "threads", threads, state.threads),
        (set(log.kv_types) <= {plan.kv_type}, "KV type", plan.kv_type, ", ".join(log.kv_types)),
        (log.slots_count in {plan.parallel_slots, None}, "parallel slots", plan.parallel_slots, log.slots_count),
        (log.ubatch_tokens in {ubatch, None}, "ubatch", ubatch, log.ubatch_tokens),
        (plan.mmap or "mmap" not in log.load_mode, "no mmap", "none", log.load_mode),
        (not log.gpus, "CPU only", "no GPU", ", ".join(log.gpus)),
        (_window_is_full(plan, log), "swa_full", plan.context_tokens, log.smallest_kv_cells),
        _lock_check(plan, state, log, tensor_bytes),
    )
    return tuple(f"{wish}: asked for {asked}, the engine has {has}" for sound, wish, asked, has in checks if not sound)


def vain_fix(log: LogFacts) -> str:
    """Give the remedy for wishes in vain: a device and a limit have their own, the rest is the build or the tier."""
    fixes = [_NO_GPU] if log.gpus else []
    fixes += [_LOCK] if log.lock_failure else []
    return "\n".join(fixes) or _OBEYING


def _window_is_full(plan: EnginePlan, log: LogFacts) -> bool:
    cells = log.smallest_kv_cells
    return not plan.swa_full or cells is None or cells * plan.parallel_slots >= plan.context_tokens


def _lock_check(plan: EnginePlan, state: EngineState, log: LogFacts, tensor_bytes: int) -> tuple[bool, str, str, str]:
    needed = tensor_bytes * _LOCKED_SHARE if plan.lock_bytes == LOCK_ALL else 0
    has = format_bytes(state.locked_bytes) + (f" ({log.lock_failure})" if log.lock_failure else "")
    return state.locked_bytes >= needed, "locked memory", format_bytes(needed), has
