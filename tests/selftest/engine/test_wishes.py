"""What is asked of llama.cpp, across its versions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.engine.wishes import context_assignments, model_assignments, numa_strategy
from streamworthy.errors import EngineError
from tests.selftest.engine.run_pool import PLAN

_MODES = {
    "LLAMA_LOAD_MODE_NONE": 0,
    "LLAMA_LOAD_MODE_MMAP": 1,
    "LLAMA_LOAD_MODE_MLOCK": 2,
    "LLAMA_LOAD_MODE_MMAP_MLOCK": 3,
}
_NEW = ["load_mode", "use_extra_bufts", "n_gpu_layers"]
_OLD = ["use_mmap", "use_mlock", "use_extra_bufts", "n_gpu_layers"]
_CONTEXT = ["n_ctx", "n_batch", "n_ubatch", "n_seq_max", "n_threads", "n_threads_batch", "type_k", "type_v", "swa_full"]


@pytest.mark.parametrize(
    ("mmap", "lock_bytes", "mode"), [(False, 0, 0), (True, 0, 1), (False, -1, 2), (True, -1, 3), (True, 64, 1)]
)
def test_new_engines_get_a_load_mode(mmap, lock_bytes, mode):
    """Mmap and mlock are one field now; a region that the child locks is not the engine's matter."""
    plan = replace(PLAN, mmap=mmap, lock_bytes=lock_bytes)

    assert model_assignments(plan, _NEW, _MODES) == {"load_mode": mode, "use_extra_bufts": False, "n_gpu_layers": 0}


def test_old_engines_get_two_flags():
    """Before the change mmap and mlock were fields of their own."""
    assert model_assignments(replace(PLAN, lock_bytes=-1), _OLD, {}) == {
        "use_mmap": True,
        "use_mlock": True,
        "use_extra_bufts": False,
        "n_gpu_layers": 0,
    }


def test_direct_io_is_switched_off_where_it_can_be():
    """Builds around January 2026 had it on, and it won over mmap: the whole model was read into memory."""
    assert model_assignments(PLAN, [*_OLD, "use_direct_io"], {})["use_direct_io"] is False
    assert "use_direct_io" not in model_assignments(PLAN, _OLD, {})


def test_nothing_is_sent_to_a_gpu():
    """A build for GPUs computes prompts there although no layer is: that would be the number of another machine."""
    found = context_assignments(PLAN, 2, [*_CONTEXT, "op_offload", "offload_kqv"])
    assert (found["op_offload"], found["offload_kqv"]) == (False, False)
    assert "op_offload" not in context_assignments(PLAN, 2, _CONTEXT)


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        ("use_mmap", "cannot be asked for mmap: it has no field load_mode or use_mmap"),
        ("use_mlock", "cannot be asked for mlock"),
        ("use_extra_bufts", "cannot be asked for repack: it has no field use_extra_bufts"),
    ],
)
def test_a_wish_without_a_field_is_an_error_that_names_it(missing, words):
    """Setting a name that is not a field does nothing in ctypes, so it is never tried."""
    with pytest.raises(EngineError, match=words):
        model_assignments(PLAN, [name for name in _OLD if name != missing], {})


def test_numa_is_a_call_of_its_own():
    """The mode's number comes from the binding; nothing is called where nothing is asked."""
    constants = {"GGML_NUMA_STRATEGY_DISTRIBUTE": 1}

    assert numa_strategy(PLAN, constants) is None
    assert numa_strategy(replace(PLAN, numa="distribute"), constants) == 1
    with pytest.raises(EngineError, match="cannot be asked for numa: it has no GGML_NUMA_STRATEGY_ISOLATE"):
        numa_strategy(replace(PLAN, numa="isolate"), constants)


def test_a_load_mode_that_the_binding_does_not_name_is_an_error():
    """The field alone is not enough: its numbers come from the binding."""
    with pytest.raises(EngineError, match="no LLAMA_LOAD_MODE_MMAP"):
        model_assignments(PLAN, _NEW, {})


def test_the_context_gets_every_wish():
    """All of the plan's numbers arrive."""
    plan = replace(PLAN, kv_type="q8_0", swa_full=True, parallel_slots=2)

    assert context_assignments(plan, 3, _CONTEXT) == {
        "n_ctx": 256,
        "n_batch": 32,
        "n_ubatch": 32,
        "n_seq_max": 2,
        "n_threads": 3,
        "n_threads_batch": 3,
        "type_k": 8,
        "type_v": 8,
        "swa_full": True,
    }


@pytest.mark.parametrize("missing", _CONTEXT)
def test_a_context_wish_without_a_field_is_an_error(missing):
    """Each of the fields is needed."""
    with pytest.raises(EngineError, match=missing):
        context_assignments(PLAN, 1, [name for name in _CONTEXT if name != missing])


def test_an_unknown_kv_type_is_an_error_that_lists_the_known():
    """The tier's typo is told before anything is loaded."""
    with pytest.raises(EngineError, match="found 'q9', expected one of f32, f16"):
        context_assignments(replace(PLAN, kv_type="q9"), 1, _CONTEXT)
