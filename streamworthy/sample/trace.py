"""Which experts a model's router picks, traced through llama.cpp's evaluation callback.

After each router the graph has a tensor ``ffn_moe_topk-<layer>`` with the picked experts' numbers (llama-graph.cpp,
build_moe_ffn); the context parameter ``cb_eval`` sees it computed. Traced in llama-cpp-python 0.3.36.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamworthy.engine.remedies import INSTALL
from streamworthy.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TOPK_PREFIX = b"ffn_moe_topk-"
_EXPERT_ID_BYTES = 4  # i32

_quiet: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingTrace:
    """The experts picked for each token. ``picks[layer][token]`` are expert numbers, the likeliest first.

    Layers are those with a router, in order; a model's leading dense layers are not among them.
    """

    n_expert: int
    picks: tuple[tuple[tuple[int, ...], ...], ...]

    @property
    def counts(self) -> tuple[tuple[int, ...], ...]:
        """How often each expert was picked: one row a layer, one number an expert."""
        rows = [Counter(expert for token in layer for expert in token) for layer in self.picks]
        return tuple(tuple(row[expert] for expert in range(self.n_expert)) for row in rows)


def top_share(trace: RoutingTrace, share: float) -> float:
    """Give the share of all picks that fell on each layer's most picked experts.

    ``share`` of a layer's experts count as its top, rounded to a whole number and at least one.
    """
    top = max(1, round(trace.n_expert * share))
    counts = trace.counts
    return sum(sum(sorted(row)[-top:]) for row in counts) / sum(map(sum, counts))


def unused_experts(trace: RoutingTrace) -> tuple[tuple[int, int], ...]:
    """List (layer, expert) of all experts that were never picked."""
    return tuple(
        (layer, expert) for layer, row in enumerate(trace.counts) for expert, count in enumerate(row) if count == 0
    )


def trace_routing(model_path: Path, tokens: Sequence[int], *, threads: int = 1) -> RoutingTrace:
    """Decode tokens one at a time, as generation does, and record each layer's picks.

    Loads the model into the calling process, mapped, and silences llama.cpp's log there. Raises EngineError when the
    engine is missing, refuses the model or a token, or when no router was seen.
    """
    try:
        import llama_cpp
    except ImportError as error:
        raise EngineError(f"llama_cpp: {error}", fix=INSTALL) from error
    seen: dict[int, list[tuple[int, ...]]] = {}
    _silence(llama_cpp)
    with _model(llama_cpp, model_path) as model:
        callback = llama_cpp.ggml_backend_sched_eval_callback(_recorder(seen))
        with _context(llama_cpp, model, callback, len(tokens), threads) as context:
            for position, token in enumerate(tokens):
                _decode(llama_cpp, context, token, position)
        n_expert = int(_metadata(llama_cpp, model, ".expert_count"))
    if not seen:
        raise EngineError(f"{model_path}: no router seen, expected tensors {_TOPK_PREFIX.decode()}<layer>")
    return RoutingTrace(n_expert=n_expert, picks=tuple(tuple(seen[layer]) for layer in sorted(seen)))


def _recorder(seen: dict[int, list[tuple[int, ...]]]) -> Any:  # noqa: ANN401 - ctypes takes any callable
    ggml = _ggml()

    def record(tensor: int, ask: bool, _user_data: int | None) -> bool:  # noqa: FBT001 - llama.cpp's signature
        name: bytes = ggml.ggml_get_name(tensor)
        if not name.startswith(_TOPK_PREFIX):
            return not ask
        if not ask:
            count = ggml.ggml_nbytes(tensor) // _EXPERT_ID_BYTES
            experts = (ctypes.c_int32 * count)()
            ggml.ggml_backend_tensor_get(tensor, experts, 0, ctypes.sizeof(experts))
            seen.setdefault(int(name[len(_TOPK_PREFIX) :]), []).append(tuple(experts))
        return True

    return record


def _ggml() -> ctypes.CDLL:
    import llama_cpp

    folder = Path(llama_cpp.__file__).parent / "lib"
    path = next((path for path in sorted(folder.glob("*ggml-base.*"))), None)
    if path is None:
        raise EngineError(f"{folder}: no ggml-base library, expected one beside llama.cpp's")
    ggml = ctypes.CDLL(str(path))
    ggml.ggml_get_name.argtypes, ggml.ggml_get_name.restype = [ctypes.c_void_p], ctypes.c_char_p
    ggml.ggml_nbytes.argtypes, ggml.ggml_nbytes.restype = [ctypes.c_void_p], ctypes.c_size_t
    ggml.ggml_backend_tensor_get.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t]
    ggml.ggml_backend_tensor_get.restype = None
    return ggml


def _silence(engine: Any) -> None:  # noqa: ANN401 - llama_cpp has no types
    global _quiet  # noqa: PLW0603 - llama.cpp keeps the pointer: the callback must outlive this call
    if _quiet is None:
        _quiet = engine.llama_log_callback(lambda _level, _text, _user_data: None)
    engine.llama_log_set(_quiet, ctypes.c_void_p(0))


@contextmanager
def _model(engine: Any, path: Path) -> Iterator[Any]:  # noqa: ANN401
    engine.llama_backend_init()
    parameters = engine.llama_model_default_params()
    parameters.n_gpu_layers = 0
    parameters.use_extra_bufts = False  # repacking would copy the weights into anonymous memory
    model = engine.llama_model_load_from_file(str(path).encode(), parameters)
    if not model:
        raise EngineError(f"{path}: the engine refused the model")
    try:
        yield model
    finally:
        engine.llama_model_free(model)


@contextmanager
def _context(engine: Any, model: Any, callback: Any, tokens: int, threads: int) -> Iterator[Any]:  # noqa: ANN401
    parameters = engine.llama_context_default_params()
    parameters.n_ctx = max(256, tokens)
    parameters.n_threads = parameters.n_threads_batch = threads
    parameters.cb_eval = callback
    context = engine.llama_init_from_model(model, parameters)
    if not context:
        raise EngineError(f"context of {tokens} tokens: the engine refused it")
    try:
        yield context
    finally:
        engine.llama_free(context)


def _decode(engine: Any, context: Any, token: int, position: int) -> None:  # noqa: ANN401
    status = engine.llama_decode(context, engine.llama_batch_get_one((engine.llama_token * 1)(token), 1))
    if status != 0:
        raise EngineError(f"token {token} at position {position}: llama_decode gave {status}, expected 0")


def _metadata(engine: Any, model: Any, suffix: str) -> str:  # noqa: ANN401
    """Find a metadata value by the end of its key: keys begin with the architecture's name."""
    text = ctypes.create_string_buffer(1024)
    for index in range(engine.llama_model_meta_count(model)):
        engine.llama_model_meta_key_by_index(model, index, text, len(text))
        if text.value.decode().endswith(suffix):
            engine.llama_model_meta_val_str_by_index(model, index, text, len(text))
            return text.value.decode()
    raise EngineError(f"metadata: no key ends in {suffix}, expected a Mixture-of-Experts model")
