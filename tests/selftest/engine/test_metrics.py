"""Which number each gate takes from an episode."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.engine import metrics
from tests.selftest.engine.records import COUNTERS, MIB, SAMPLE, make_episode, make_phase

_DECODING, _STARTING = replace(COUNTERS, seconds=4.01), replace(COUNTERS, seconds=3.51)
_EPISODE = make_episode(
    make_phase("load", seconds=1.5, tokens=0, device_bytes=200 * MIB),
    make_phase("prefill", seconds=0.5, tokens=32),
    make_phase("first_token", seconds=0.6, tokens=32, device_bytes=MIB),
    make_phase("first_token_evicted", seconds=0.9, tokens=32),
    make_phase(
        "decode",
        seconds=4.0,
        tokens=4,
        token_seconds=(2.5, 3.0, 3.75, 4.0),
        token_device_bytes=(40 * MIB, 41 * MIB, 44 * MIB, 48 * MIB),
        device_bytes=48 * MIB,
        counters=_DECODING,
    ),
    first_token_counters=_STARTING,
    disturbers=("cp (pid 9)",),
    hidden="3 processes",
)
_SAMPLE = replace(SAMPLE, disturbers=("cp (pid 9)",), hidden="3 processes")


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (metrics.LOAD, replace(_SAMPLE, seconds=1.5, tokens=0, device_bytes=200 * MIB)),
        (
            metrics.FIRST_TOKEN_COLD,
            replace(
                _SAMPLE,
                seconds=3.5,
                tokens=32,
                device_bytes=201 * MIB,
                major_faults=14,
                note="loaded, then evicted again: 900.0 ms",
                counters=_STARTING,
            ),
        ),
        (metrics.FIRST_TOKEN_WARM, replace(_SAMPLE, seconds=0.6, tokens=32, device_bytes=MIB)),
        (metrics.PREFILL, replace(_SAMPLE, seconds=0.5, tokens=32)),
        (
            metrics.DECODE_COLD,
            replace(
                _SAMPLE,
                seconds=4.0,
                tokens=4,
                device_bytes=48 * MIB,
                gap_seconds=(0.5, 0.75, 0.25),
                note="12.0 MiB a token",
                counters=_DECODING,
            ),
        ),
        (
            metrics.DECODE_WARM,
            replace(
                _SAMPLE,
                seconds=1.5,
                tokens=3,
                device_bytes=8 * MIB,
                gap_seconds=(0.5, 0.75, 0.25),
                note="slowest token 750.0 ms",
                counters=_DECODING,
            ),
        ),
    ],
)
def test_each_gate_takes_its_part(metric, expected):
    """Cold decode counts from the eviction on; warm decode is (n - 1) / (t_last - t_first).

    Counters are those of the same phase, and of the first token those since the spawn.
    """
    assert metric.sample(_EPISODE) == expected


@pytest.mark.parametrize(
    "metric",
    [
        metrics.LOAD,
        metrics.FIRST_TOKEN_COLD,
        metrics.FIRST_TOKEN_WARM,
        metrics.PREFILL,
        metrics.DECODE_COLD,
        metrics.DECODE_WARM,
    ],
)
def test_an_episode_without_the_part_gives_no_sample(metric):
    """A missing phase is absent, not zero."""
    assert metric.sample(make_episode()) is None


@pytest.mark.parametrize(("read", "nothing"), [(7_999, True), (8_000, False), (8_001, False)])
def test_near_zero_is_one_percent_of_the_tokens_bytes(read, nothing):
    """8 tokens of 100,000 bytes: below 8,000 bytes in all nothing was read."""
    sample = replace(SAMPLE, tokens=8, device_bytes=read)

    assert metrics.reads_nothing((sample,), 100_000) is nothing


def test_no_samples_is_not_reading_nothing():
    """Without a sample nothing is concluded."""
    assert not metrics.reads_nothing((), 100_000)


def test_a_first_token_after_another_episode_is_not_a_cold_one():
    """Without the counters since the spawn there was no spawn."""
    assert metrics.FIRST_TOKEN_COLD.sample(replace(_EPISODE, first_token_counters=None)) is None
