"""What control groups let be read, against what a tier asks of a drive."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.criteria import storage
from streamworthy.facts.storage import ReadLimit, ReadLimitFacts
from streamworthy.probes.machine import Machine
from streamworthy.verdict import Word
from tests.selftest.criteria.asked import limit
from tests.selftest.probes.folder import captured

LIMIT = limit("storage.read_limit", at_least=3e9)
HELD = ReadLimit(
    group="/build",
    file="/sys/fs/cgroup/build/io.max",
    device="nvme0n1",
    major_minor="259:0",
    drives_count=1,
    bytes_per_second=50 * 10**6,
    reads_per_second=None,
)


def judge(*limits, devices=("nvme0n1",), unknown=""):
    """Judge these limits."""
    return storage.read_limit(ReadLimitFacts(limits=limits, devices=devices, unknown=unknown), LIMIT)


def test_without_a_limit_it_passes():
    """What the drive gives, disk.sequential_read measures."""
    assert (judge().word, judge().measured) == (Word.PASS, "no limit")


@pytest.mark.parametrize(
    ("held", "word", "value"),
    [
        (HELD, Word.FAIL, 50e6),
        (replace(HELD, bytes_per_second=3 * 10**9), Word.PASS, 3e9),
        (replace(HELD, bytes_per_second=None, reads_per_second=1000), Word.FAIL, 1000 * 2**17),
        (replace(HELD, bytes_per_second=None, reads_per_second=100_000), Word.PASS, 100_000 * 2**17),
        (replace(HELD, reads_per_second=100), Word.FAIL, 100 * 2**17),
        (replace(HELD, bytes_per_second=10**9, drives_count=4), Word.PASS, 4e9),
    ],
)
def test_what_is_let_through_is_judged(held, word, value):
    """Bytes, or reads of the size that a fault brings; of drives that are read at once all together."""
    found = judge(held)
    assert (found.word, found.value) == (word, value)


def test_the_least_decides_and_all_are_evidence():
    """A wide limit of the leaf does not help below a narrow one of its parent."""
    found = judge(replace(HELD, group="/build/inner", bytes_per_second=10**10), HELD)
    assert found.word is Word.FAIL
    assert found.cause == "control group /build lets 50.0 MB/s be read from nvme0n1, and no more"
    assert len(found.evidence) == 2


@pytest.mark.parametrize(
    ("group", "file", "fix"),
    [
        (
            "/build",
            "/sys/fs/cgroup/build/io.max",
            "echo '259:0 rbps=max riops=max' | sudo tee /sys/fs/cgroup/build/io.max",
        ),
        (
            "/",
            "/sys/fs/cgroup/io.max",
            "container: run it again without --device-read-bps and --device-read-iops (docker, podman)",
        ),
        (
            "/my build",
            "/sys/fs/cgroup/blkio/my build/blkio.throttle.read_bps_device",
            "echo '259:0 0' | sudo tee '/sys/fs/cgroup/blkio/my build/blkio.throttle.read_bps_device'",
        ),
        (
            "/system.slice/llama.service",
            "/sys/fs/cgroup/system.slice/llama.service/io.max",
            "sudo systemctl set-property llama.service IOReadBandwidthMax= IOReadIOPSMax=",
        ),
        (
            "/user.slice/user-1000.slice/user@1000.service/app.slice/run-1.scope",
            "/x/io.max",
            "systemctl --user set-property run-1.scope IOReadBandwidthMax= IOReadIOPSMax=",
        ),
        (
            "/system.slice/docker-0123.scope",
            "/x/io.max",
            "container: docker run it again without --device-read-bps and --device-read-iops",
        ),
        (
            "/kubepods.slice/pod0/cri-containerd-0.scope",
            "/x/io.max",
            "pod: give it another block I/O class (annotation blockio.resources.beta.kubernetes.io)",
        ),
    ],
)
def test_whoever_made_the_group_is_told_how(group, file, fix):
    """A container's files are written again by its engine, so its own setting is named."""
    assert judge(replace(HELD, group=group, file=file)).fix == (fix,)


def test_unknown_disks_are_not_called_free():
    """A layer that hides its disks may be limited below."""
    found = judge(unknown="/dev/root is not known")
    assert found.word is Word.ERROR
    assert "/dev/root is not known" in found.cause


def test_where_no_block_device_is_there_is_nothing_to_limit():
    """tmpfs, FUSE, the network."""
    assert judge(devices=()).word is Word.NOT_APPLICABLE


def test_a_real_limit_of_a_parent_is_seen():
    """As a kernel told it."""
    found = storage.read_limit(Machine(captured("vm-read-limit")).read_limits, LIMIT)
    assert (found.word, found.value) == (Word.FAIL, 104857600)
    assert found.cause.startswith("control group /build lets 104.9 MB/s be read from nvme")
