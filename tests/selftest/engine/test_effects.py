"""Whether each wish took effect."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.engine.effects import engine_state, unfulfilled, vain_fix
from streamworthy.engine.log import parse_log
from tests.selftest.engine.records import MIB, STATE
from tests.selftest.engine.run_pool import PLAN
from tests.selftest.engine.test_log import read

_LOG = parse_log(read("sample-mmap"))


def missing(plan=PLAN, state=STATE, log=_LOG, threads=1):
    """Tell what is unfulfilled; sound by default."""
    return unfulfilled(plan, state, log, threads=threads, tensor_bytes=200 * MIB)


def test_a_sound_engine_has_fulfilled_everything():
    """Nothing is listed."""
    assert missing() == ()


def test_a_padded_context_is_enough():
    """llama.cpp rounds the context up."""
    assert missing(state=replace(STATE, context_tokens=512)) == ()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"state": replace(STATE, context_tokens=255)}, "context: asked for 256, the engine has 255"),
        ({"threads": 4}, "threads: asked for 4, the engine has 1"),
        ({"plan": replace(PLAN, kv_type="q8_0")}, "KV type: asked for q8_0, the engine has f16"),
        ({"plan": replace(PLAN, parallel_slots=2)}, "parallel slots: asked for 2, the engine has 1"),
        ({"plan": replace(PLAN, ubatch_tokens=16)}, "ubatch: asked for 16, the engine has 32"),
        ({"plan": replace(PLAN, mmap=False)}, "no mmap: asked for none, the engine has mmap"),
        ({"log": replace(_LOG, gpus=("CUDA0", "CUDA1"))}, "CPU only: asked for no GPU, the engine has CUDA0, CUDA1"),
        ({"plan": replace(PLAN, lock_bytes=-1)}, "locked memory: asked for 196.0 MiB, the engine has 0 B"),
        (
            {"plan": replace(PLAN, swa_full=True), "log": replace(_LOG, smallest_kv_cells=128)},
            "swa_full: asked for 256, the engine has 128",
        ),
    ],
)
def test_each_wish_in_vain_is_named(changes, words):
    """One wish off gives one line."""
    assert missing(**changes) == (words,)


@pytest.mark.parametrize(
    ("changes", "fix"),
    [
        ({}, "use an engine build that knows these settings"),
        ({"lock_failure": parse_log(read("smollm2-lock-refused")).lock_failure}, "raise 'memlock' for this user"),
        ({"gpus": ("CUDA0",)}, "CUDA_VISIBLE_DEVICES="),
    ],
)
def test_each_kind_of_wish_in_vain_has_its_remedy(changes, fix):
    """A limit of this user and a device of this build are not the tier's fault."""
    found = vain_fix(replace(_LOG, **changes))
    assert fix in found
    assert ("use an engine build" in found) is (not changes)


def test_a_region_that_could_not_be_locked_is_no_wish_of_the_engine():
    """No number depends on it, so it spoils none."""
    assert missing(plan=replace(PLAN, lock_bytes=MIB)) == ()


def test_a_refused_lock_quotes_the_engine():
    """The warning of the log stands beside the number."""
    log = replace(_LOG, lock_failure="failed to mlock 100-byte buffer")

    assert missing(plan=replace(PLAN, lock_bytes=-1), log=log)[0].endswith("(failed to mlock 100-byte buffer)")


@pytest.mark.parametrize(("locked", "count"), [(196 * MIB - 1, 1), (196 * MIB, 0), (200 * MIB, 0)])
def test_locking_all_weights_means_98_percent_of_the_tensors(locked, count):
    """Headers are not locked, tensors are."""
    assert len(missing(plan=replace(PLAN, lock_bytes=-1), state=replace(STATE, locked_bytes=locked))) == count


def test_a_log_without_a_known_line_proves_nothing():
    """Unknown is not safe."""
    assert missing(log=parse_log("hello")) == (
        "the engine's log has no known line (is the scratch folder full?): nothing proves what it was asked",
    )


def test_the_state_joins_the_childs_view_and_the_log():
    """Each of the two gives its part."""
    names = ("kv_bytes", "compute_bytes", "repack_bytes", "load_mode", "flash_attention", "hint_refused", "unmapped")
    seen = {name: getattr(STATE, name) for name in type(STATE).__slots__ if name not in names}

    assert engine_state(seen, _LOG) == replace(STATE, **{name: getattr(_LOG, name) for name in names})
