"""An engine that the kernel kills for lack of memory, for real."""

from __future__ import annotations

import sys

import pytest

from tests.selftest.engine.real_model import copy_real_model
from tests.selftest.truth.groups import NEEDS_GROUPS, memory_group, run_in_group

_LIMIT_BYTES = 110 * 2**20  # the parent and the child's imports fit, a copy of the 98 MB of weights does not
_LOAD_A_COPY = """
import sys
from dataclasses import asdict, replace
from pathlib import Path
from streamworthy.engine.runner import Engine
from streamworthy.errors import EngineError
from tests.selftest.engine.run_pool import PLAN
with Engine(Path(sys.argv[2])) as engine:
    try:
        engine.ask('prepare', limit_seconds=100.0)
        engine.ask('load', limit_seconds=100.0, shards=[sys.argv[1]], plan=asdict(replace(PLAN, mmap=False)), threads=1)
    except EngineError as error:
        print(error)
"""

pytestmark = NEEDS_GROUPS


def test_an_oom_kill_is_told_with_the_kernels_counter(tmp_path):
    """The child dies, not its parent, and the counter that moved is the evidence."""
    pytest.importorskip("llama_cpp", reason="the engine is not installed")
    model = copy_real_model(tmp_path)
    with memory_group(_LIMIT_BYTES) as folder:
        told = run_in_group(folder, [sys.executable, "-c", _LOAD_A_COPY, model, tmp_path])
    model.unlink()

    assert told.startswith(
        "engine: while asked to load: killed by the kernel for lack of memory (oom_kill of this cgroup 0 -> 1"
    )
    assert "\nfix: " in told
