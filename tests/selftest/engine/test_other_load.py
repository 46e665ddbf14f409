"""A busy neighbour on the engine's only CPU, for real."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack

import pytest

from tests.selftest.engine.real_model import copy_real_model
from tests.selftest.truth.others import REPOSITORY

_RUN_POOL = "tests.selftest.engine.run_pool"
_LOOP = "while True: pass"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="pins processes to a CPU; only Linux has /proc/PID/schedstat"),
]


def test_two_loops_beside_the_engine_are_seen(tmp_path):
    """One CPU for three: the warm rate says that somebody else computed, and that the engine waited."""
    model = copy_real_model(tmp_path)
    cpu = min(os.sched_getaffinity(0))
    pin = [
        sys.executable,
        "-c",
        f"import os, sys; os.sched_setaffinity(0, [{cpu}]); os.execv(sys.argv[1], sys.argv[1:])",
    ]
    with ExitStack() as ended:
        loops = [subprocess.Popen([*pin, sys.executable, "-c", _LOOP]) for _ in range(2)]
        for loop in loops:
            ended.callback(loop.wait)
            ended.callback(loop.kill)
        command = [*pin, sys.executable, "-m", _RUN_POOL, f"--available={2**40}", f"--scratch={tmp_path}", str(model)]
        done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True, timeout=600)
    warm = json.loads(done.stdout)["gates"]["decode.warm_rate"]
    evidence = dict(line.split("=", 1) for line in warm["evidence"])
    assert warm["word"] == "pass"
    assert "(pid " in evidence["other_load"]  # a loop, or who else is busier on this machine
    assert float(evidence["cpu_of_others"].split()[0]) > 0.3
    assert float(evidence["run_queue_wait"].split()[0]) > 40
