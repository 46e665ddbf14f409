"""Facts about the processor."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.facts.cpu import CpuFacts

CPU = CpuFacts(
    architecture="x86_64",
    pointer_bits=64,
    model_name="Example 1",
    hypervisor=False,
    flags=("avx2",),
    partial_flags=(),
    online_count=16,
    allowed_count=16,
    physical_cores_count=8,
    performance_cores_count=None,
    quota_cores=None,
    cores_unknown="",
)


@pytest.mark.parametrize(
    ("quota", "usable"), [(None, 8), (7.65, 7), (8.0, 8), (7.99, 7), (12.0, 8), (1.0, 1), (0.5, 1), (0.0, 1)]
)
def test_usable_cores_are_the_smaller_of_cores_and_whole_quota(quota, usable):
    """A quota is rounded down, and one core is always left."""
    assert replace(CPU, quota_cores=quota).usable_cores_count == usable


@pytest.mark.parametrize("change", [{"physical_cores_count": None}, {"cores_unknown": "quota cannot be seen"}])
def test_usable_cores_are_unknown_when_a_part_is(change):
    """Neither cores without quota nor quota without cores is an answer."""
    assert replace(CPU, **change).usable_cores_count is None
