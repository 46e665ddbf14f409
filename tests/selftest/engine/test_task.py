"""What an engine task allows and expects."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from streamworthy.engine.task import EngineTask
from streamworthy.facts.workload import NOTHING_MEASURED
from tests.selftest.engine.run_pool import PLAN

_GB = 10**9
_TASK = EngineTask(
    paths=(Path("model.gguf"),),
    dense=(),
    file_bytes=400 * _GB,
    tensor_bytes=400 * _GB,
    bytes_per_token=20 * _GB,
    plan=PLAN,
    threads=1,
    performance_cores_count=None,
    available_bytes=30 * _GB,
    devices=("nvme0n1",),
    disk_bytes_per_second=4e9,
    fault_bytes_per_second=2e9,
    memory_bytes_per_second=80e9,
    slab_bytes=7 * 10**6,
    read_ahead=None,
    answer_prompt="The capital of France is",
    answer_tokens=16,
    answer_reference=None,
)


def test_the_ceiling_is_bandwidth_over_bytes_per_token():
    """80 GB/s and 20 GB a token are four tokens a second."""
    assert _TASK.workload(NOTHING_MEASURED).ceiling_tokens_per_second == 4.0


@pytest.mark.parametrize(("size", "seconds"), [(0, 300.0), (60 * _GB, 300.0), (61 * _GB, 305.0), (400 * _GB, 2000.0)])
def test_the_time_limit_follows_from_the_bytes(size, seconds):
    """Twenty times what the disk needs, five minutes at least."""
    assert _TASK.limit_seconds(size) == seconds


def test_a_prompt_reads_the_model_once_for_each_ubatch():
    """33 tokens in ubatches of 32 are two passes."""
    assert replace(_TASK, plan=replace(PLAN, prompt_tokens=33)).prompt_bytes == 800 * _GB
    assert _TASK.prompt_bytes == 400 * _GB


@pytest.mark.parametrize(("kind", "seconds"), [("cold", 341.0), ("prompt", 101.0), ("decode", 41.0)])
def test_expected_times_of_a_streamed_model(kind, seconds):
    """Cold: load, two prompts and eight tokens from the disk; warm: a prompt or the tokens."""
    assert _TASK.expected_seconds(kind) == seconds


@pytest.mark.parametrize(("kind", "seconds"), [("cold", 241.0), ("prompt", 1.0), ("decode", 1.0)])
def test_expected_times_of_a_model_in_memory(kind, seconds):
    """What is resident is not read again."""
    assert replace(_TASK, available_bytes=500 * _GB).expected_seconds(kind) == seconds


def test_texts_are_rotated_and_none_is_lost():
    """Each rotation begins with another passage, and comes round."""
    first = _TASK.texts(0)

    assert _TASK.texts(1) == (*first[1:], first[0])
    assert _TASK.texts(len(first)) == first
