"""One disk, judged and named."""

from __future__ import annotations

from dataclasses import replace

import pytest

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


def test_a_disk_that_a_cloud_gives_back_is_advised_against():
    """Fast enough, and empty after the machine was deallocated (colibri#1384)."""
    volume = replace(VOLUME, leaves=(replace(NVME, name="nvme1n1", model="Microsoft NVMe Direct Disk v2"),))
    (found,) = judge_transport(volume, None, ("nvme",), 0.0003)
    assert found.word is Word.ADVICE
    assert "nvme1n1" in found.cause
    assert "deallocated" in found.cause
    assert found.fix


@pytest.mark.parametrize(
    ("model", "word"),
    [
        ("Amazon EC2 NVMe Instance Storage", Word.ADVICE),
        ("nvme_card0", Word.ADVICE),
        ("nvme_card", Word.ADVICE),
        ("nvme_card-pd", Word.PASS),
        ("Samsung SSD 990 PRO 2TB", Word.PASS),
        (None, Word.PASS),
    ],
)
def test_ephemeral_disks_are_known_by_their_models(model, word):
    """Amazon's, Google's local and Azure's direct disks are lost; lasting volumes and real drives are not."""
    (found,) = judge_transport(replace(VOLUME, leaves=(replace(NVME, model=model),)), None, ("nvme",), 0.0003)
    assert found.word is word


def test_a_slow_network_volume_is_not_called_a_spinning_disk():
    """The cause names the limit that was missed, and what usually misses it."""
    disk = leaf("emulated", evidence=False, name="nvme0n1", model="Amazon Elastic Block Store")
    volume = replace(VOLUME, leaves=(disk,))
    (settled,) = latency(0.000562).volumes
    (found,) = judge_transport(volume, settled, ("virtual",), 0.0003)
    assert found.word is Word.FAIL
    assert "more than 300 us" in found.cause
    assert "network" in found.cause
    assert "spinning disk" not in found.cause


def test_the_disk_behind_a_cache_is_named_with_its_cache():
    """bcache keeps a part on flash; a model larger than it is read from the disk."""
    spinning = replace(leaf("sata", rotational=True, name="sdf"), chain=("bcache0", "sdf"))
    (found,) = judge_medium(replace(VOLUME, leaves=(spinning,)), None, 0.002)
    assert found.word is Word.FAIL
    assert "bcache0 keeps only a part" in found.cause
