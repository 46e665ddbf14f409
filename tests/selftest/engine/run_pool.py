"""Runs every performance gate on a model in a process of its own and prints the verdicts as JSON.

Not a test: tests start it where the process itself has to be special (a memory cgroup, a limited address space).
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from streamworthy.criteria import decode, first_token, load, prefill
from streamworthy.engine.pool import Pool
from streamworthy.engine.task import ANSWER_PROMPT, EngineTask
from streamworthy.facts.plan import PLAIN_PLAN
from streamworthy.sample.reference import load_reference
from tests.selftest.criteria.asked import limit

_ANSWER_TOKENS = 6  # a token can take seconds here

PLAN = replace(
    PLAIN_PLAN,
    context_tokens=256,
    prompt_tokens=32,
    decode_tokens=8,
    threads=1,
    batch_tokens=32,
    ubatch_tokens=32,
)


def make_task(paths, **changes):
    """Make an engine task for shards of the sample or of another model."""
    is_sample = "streamworthy-sample" in paths[0].name
    reference = load_reference()
    size = sum(path.stat().st_size for path in paths)
    task = {
        "paths": tuple(paths),
        "dense": (),
        "file_bytes": size,
        "tensor_bytes": size,
        "bytes_per_token": size // 8,
        "plan": PLAN,
        "threads": 1,
        "performance_cores_count": None,
        "available_bytes": 2**40,
        "devices": (),
        "disk_bytes_per_second": 500e6,
        "fault_bytes_per_second": 150e6,
        "memory_bytes_per_second": 20e9,
        "slab_bytes": 2**17,
        "read_ahead": None,
        "answer_prompt": reference.prompt if is_sample else ANSWER_PROMPT,
        "answer_tokens": _ANSWER_TOKENS,
        "answer_reference": reference.answer_tokens[:_ANSWER_TOKENS] if is_sample else None,
    }
    return EngineTask(**(task | changes))


def judge_all(pool):
    """Give every performance gate's verdict, by name, under limits that any sound run meets."""
    return {
        "load.mmap": load.mmap(pool.load, limit("load.mmap", at_most=600.0, at_least=1e6)),
        "first_token.cold": first_token.cold(pool.first_token_cold, limit("first_token.cold", at_most=600.0)),
        "decode.cold_rate": decode.cold_rate(pool.decode_cold, limit("decode.cold_rate", at_least=0.01)),
        "decode.warm_rate": decode.warm_rate(pool.decode_warm, limit("decode.warm_rate", at_least=0.01)),
        "decode.answer": decode.answer(pool.answers, limit("decode.answer")),
        "first_token.warm": first_token.warm(pool.first_token_warm, limit("first_token.warm", at_most=600.0)),
        "prefill.rate": prefill.rate(pool.prefill, limit("prefill.rate", at_least=0.01)),
        "load.mapped_share": load.mapped_share(
            pool.mapping, limit("load.mapped_share", at_least=0.98, anonymous_at_most=1.3)
        ),
    }


def main():
    """Run and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--available", type=int, required=True)
    parser.add_argument("--scratch", type=Path, required=True)
    parser.add_argument("paths", type=Path, nargs="+")
    asked = parser.parse_args()
    task = make_task(asked.paths, available_bytes=asked.available)
    with Pool(
        task,
        scratch=asked.scratch,
        budget_seconds=7200.0,
        depth="quick",
        disturb=True,
        progress=lambda line: print(line, file=sys.stderr, flush=True),  # noqa: T201
    ) as pool:
        verdicts = judge_all(pool)
        per_token = {
            kind: [
                phase.device_bytes / phase.tokens
                for episode in pool.episodes
                if episode.state.startswith(kind) and (phase := episode.phase("decode"))
            ]
            for kind in ("cold", "warm")
        }
    found = {
        gate: {"word": v.word, "value": v.value, "measured": v.measured, "cause": v.cause, "evidence": v.evidence}
        for gate, v in verdicts.items()
    }
    print(json.dumps({"gates": found, "device_bytes_per_token": per_token}))  # noqa: T201


if __name__ == "__main__":
    main()
