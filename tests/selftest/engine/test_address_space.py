"""The limit of address space, held against a real engine: what the gate asks for is enough, and less is refused."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from streamworthy.criteria import memory
from streamworthy.gguf.subject import Subject
from streamworthy.preparation import find_machine
from streamworthy.probes.sysroot import Sysroot
from streamworthy.verdict import Word
from tests.selftest.criteria.asked import limit
from tests.selftest.engine.real_model import copy_real_model
from tests.selftest.face.running import qualify
from tests.selftest.gguf.test_kv_cache import PLAN

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="asks this kernel; macOS does not hold RLIMIT_AS"),
]
ENGINE = """
import resource, sys
path, limit, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
import llama_cpp
llama = llama_cpp.Llama(path, n_ctx=512, n_batch=64, n_ubatch=64, n_threads=threads, n_threads_batch=threads)
print(len(llama("Once upon a time", max_tokens=4)["choices"]))
"""


@pytest.fixture
def model(tmp_path):
    """Give a small real model."""
    return copy_real_model(tmp_path)


def facts_of(model):
    """Learn what this process may map and what the engine needs."""
    machine = find_machine(Sysroot(), Subject(model))
    machine.plan = replace(PLAN, context_tokens=512, batch_tokens=64, ubatch_tokens=64, threads=2)
    return machine.address_space


def run_engine(model, limit_bytes):
    """Load and decode under a limit; gives what the engine printed."""
    line = [sys.executable, "-c", ENGINE, str(model), str(limit_bytes), "2"]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=120)


def test_the_engine_refuses_what_the_gate_fails(model):
    """Under less than the shards and the engine's libraries mmap gives ENOMEM, and the gate says so before."""
    facts = facts_of(model)
    low = facts.shards_bytes + 100 * 2**20
    found = memory.address_space(replace(facts, soft_bytes=low, hard_bytes=low), limit())
    assert (found.word, "ENOMEM" in found.cause) == (Word.FAIL, True)
    done = run_engine(model, low)
    assert (done.returncode, done.stdout) == (1, "")
    assert "Cannot allocate memory" in done.stderr


def test_the_engine_runs_within_what_the_gate_asks_for(model):
    """Loaded and decoded under exactly the need, so the gate does not pass what would end."""
    facts = facts_of(model)
    need = facts.shards_bytes + facts.engine_bytes
    assert memory.address_space(replace(facts, soft_bytes=need), limit()).word is Word.PASS
    done = run_engine(model, need)
    assert (done.returncode, done.stdout.strip()) == (0, "1"), done.stderr[-2000:]


def test_the_front_door_fails_under_a_real_limit(model, tmp_path):
    """The limit of the process that runs the suite is the engine's, who is its child."""
    low = str(facts_of(model).shards_bytes + 150 * 2**20)
    asked = ("--model", model, "--scratch", tmp_path / "scratch", "-k", "address_space")
    run = qualify(tmp_path, *asked, report=False, before=("prlimit", f"--as={low}:{low}"))
    assert run.exit_code == 1, run.screen
    assert "memory.address_space" in run.screen
    assert "RLIMIT_AS is too low" in run.screen
