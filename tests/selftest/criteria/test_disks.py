"""One disk, judged and named."""

from __future__ import annotations

from dataclasses import replace

from streamworthy.criteria.disks import describe, judge_medium, judge_transport
from streamworthy.verdict import Word
from tests.selftest.criteria.volumes import NVME, VOLUME, latency, leaf


def test_a_disk_without_a_model_is_named_by_its_transport():
    """Virtio disks have none."""
    assert describe(leaf("virtio", name="vda")) == "vda (virtio)"
    assert describe(NVME) == "nvme0n1 (nvme, Samsung SSD 990 PRO 2TB)"


def test_each_disk_of_an_array_is_judged():
    """One SATA drive among four is found by name."""
    volume = replace(VOLUME, leaves=(NVME, leaf("sata", rotational=True)))
    (settled,) = latency(0.001).volumes
    assert [each.word for each in judge_medium(volume, settled, 0.002)] == [Word.PASS, Word.FAIL]
    assert [each.word for each in judge_transport(volume, settled, ("nvme",), 0.002)] == [Word.PASS, Word.FAIL]
