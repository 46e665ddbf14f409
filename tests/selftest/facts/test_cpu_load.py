"""When another load counts, and when the engine has too few CPUs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.facts.cpu_load import CpuLoad

LOAD = CpuLoad(
    others_cores=0.9,
    steal_cores=0.0,
    wait_share=0.8,
    allowed_cores=2.0,
    threads_count=2,
    busiest=("cc1 (pid 7), 0.90 of a core",),
)


@pytest.mark.parametrize(
    ("changes", "disturbed"),
    [
        ({}, True),
        ({"others_cores": 0.31, "wait_share": 0.41}, True),
        ({"others_cores": 0.3}, False),
        ({"wait_share": 0.4}, False),
        ({"wait_share": None}, False),
        ({"others_cores": 0.0, "steal_cores": 0.4}, True),
    ],
)
def test_others_disturb_when_they_compute_and_the_engine_waits(changes, disturbed):
    """Either alone is harmless: spare cores, or threads that wait for each other."""
    assert replace(LOAD, **changes).disturbed is disturbed


@pytest.mark.parametrize(
    ("changes", "cramped"),
    [
        ({"allowed_cores": 1.0}, True),
        ({"allowed_cores": 1.5}, True),
        ({"allowed_cores": 2.0}, False),
        ({"allowed_cores": None}, False),
        ({"allowed_cores": 1.0, "wait_share": 0.4}, False),
    ],
)
def test_fewer_cpus_than_threads_are_too_few_when_they_wait(changes, cramped):
    """By affinity or quota, whichever is less."""
    assert replace(LOAD, others_cores=0.0, **changes).cramped is cramped
