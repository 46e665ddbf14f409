"""One cause for each set of signs; numbers are those of machines of known truth."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.criteria.bottleneck import find_bottleneck
from streamworthy.criteria.picture import Picture
from streamworthy.facts.cause import Cause
from streamworthy.facts.disk import ReadAhead, ReadAheadFacts
from streamworthy.facts.workload import NOTHING_MEASURED, Workload

_SLAB = 147_000
_WORK = Workload(
    file_bytes=1_400 * 10**6,
    available_bytes=700 * 10**6,
    bytes_per_token=100 * 10**6,
    slab_bytes=_SLAB,
    threads_count=2,
    performance_cores_count=None,
    read_ahead=None,
    fault_bytes_per_second=300e6,
    memory_bytes_per_second=70e9,
    measured=NOTHING_MEASURED,
)
RESIDENT = Picture(
    workload=_WORK,
    decoding=True,
    resident=True,
    tokens_per_second=211.0,
    read_per_token_bytes=0.0,
    read_bytes_per_second=0.0,
    read_per_fault_bytes=None,
    io_wait_share=0.0,
    device_busy_share=0.0,
    refaulted_share=0.0,
    swapped_in_share=0.0,
    swapped_in_bytes_per_second=0.0,
    anonymous_share=0.05,
    engine_cores=2.0,
    clock_share=0.95,
    throttle_count=0,
    allowed_cores=None,
)
STREAMING = replace(
    RESIDENT,
    resident=False,
    tokens_per_second=30.0,
    read_per_token_bytes=18e6,
    read_bytes_per_second=550e6,
    read_per_fault_bytes=1.4 * _SLAB,
    io_wait_share=0.22,
    device_busy_share=0.4,
    refaulted_share=0.9,
)


def wide(kib):
    """Give the read-ahead of one NVMe drive."""
    return ReadAheadFacts(
        devices=(
            ReadAhead(
                mount_point="/models",
                device="nvme0n1",
                setting="/sys/block/nvme0n1/queue/read_ahead_kb",
                read_ahead_bytes=kib * 2**10,
                udev_match='KERNEL=="nvme0n1"',
                shards_count=7,
            ),
        )
    )


@pytest.mark.parametrize(
    ("seen", "changes", "cause"),
    [
        (RESIDENT, {}, Cause.COMPUTE),
        (RESIDENT, {"tokens_per_second": 600.0}, Cause.MEMORY_BANDWIDTH),
        (RESIDENT, {"throttle_count": 3}, Cause.THROTTLING),
        (RESIDENT, {"clock_share": 0.4}, Cause.THROTTLING),
        (RESIDENT, {"clock_share": 0.4, "engine_cores": 0.3}, Cause.COMPUTE),  # an idle CPU clocks down
        (RESIDENT, {"anonymous_share": 1.1}, Cause.COMPUTE),  # a copy that fits slows nothing
        (RESIDENT, {"allowed_cores": 1.0}, Cause.ENGINE_CONFIGURATION),
        (RESIDENT, {"read_per_token_bytes": 1.9e6}, Cause.COMPUTE),
        (STREAMING, {}, Cause.MEMORY_CAPACITY),
        (STREAMING, {"read_per_token_bytes": 184e6, "read_per_fault_bytes": 2.6 * _SLAB}, Cause.MEMORY_CAPACITY),
        (STREAMING, {"read_per_token_bytes": 1163e6, "read_per_fault_bytes": 42.0 * _SLAB}, Cause.READ_AHEAD),
        (STREAMING, {"anonymous_share": 1.1}, Cause.ENGINE_CONFIGURATION),
        (STREAMING, {"swapped_in_share": 0.9, "swapped_in_bytes_per_second": 115e6}, Cause.SWAP),
        (STREAMING, {"swapped_in_share": 0.9, "swapped_in_bytes_per_second": 1e4}, Cause.MEMORY_CAPACITY),
        (STREAMING, {"refaulted_share": 0.1}, Cause.DISK),
        (STREAMING, {"refaulted_share": None}, Cause.DISK),
        (STREAMING, {"io_wait_share": 0.66, "device_busy_share": 0.01, "read_bytes_per_second": 50e6}, Cause.DISK),
        (STREAMING, {"io_wait_share": 0.47, "device_busy_share": 0.03, "read_bytes_per_second": 50e6}, Cause.DISK),
        (STREAMING, {"io_wait_share": 0.66, "device_busy_share": 0.9, "read_bytes_per_second": 40e6}, Cause.DISK),
    ],
)
def test_signs_name_a_cause(seen, changes, cause):
    """Each row is a machine and one thing about it."""
    found = find_bottleneck(replace(seen, **changes))
    assert found.word is cause
    assert found.told.startswith(f"{cause} (suspected): ")
    assert found.fix


def test_a_window_wider_than_large_slabs_is_found_too():
    """With experts of 7 MB the waste is a factor of 3, and the setting tells what it comes from."""
    work = replace(_WORK, slab_bytes=7 * 10**6, bytes_per_token=12 * 10**9, read_ahead=wide(8192))
    seen = replace(STREAMING, workload=work, read_per_token_bytes=20e9, read_per_fault_bytes=16e6)
    found = find_bottleneck(seen)
    assert found.word is Cause.READ_AHEAD
    assert found.reason == (
        "18.6 GiB are read a token that needs at most 11.2 GiB: a fault brings 15.3 MiB for a slab of 6.7 MiB; "
        "read-ahead of nvme0n1 is 8.0 MiB (/sys/block/nvme0n1/queue/read_ahead_kb)"
    )
    assert found.fix[0] == "sudo blockdev --setra 512 /dev/nvme0n1  # now; restart the engine"
    assert find_bottleneck(replace(seen, workload=replace(work, read_ahead=wide(128)))).word is Cause.MEMORY_CAPACITY


def test_more_than_the_tiers_memory_gives_is_no_bandwidth_bound():
    """A machine beyond the tier's reference has another roof, which was not measured."""
    assert find_bottleneck(replace(RESIDENT, tokens_per_second=1400.0)).word is Cause.COMPUTE


def test_a_measured_memory_bandwidth_counts_before_the_tiers():
    """A machine with one memory channel is slow for that, whatever the tier's machine has."""
    slow = replace(_WORK, measured=replace(NOTHING_MEASURED, memory_bytes_per_second=25e9))
    assert find_bottleneck(replace(RESIDENT, workload=slow)).word is Cause.MEMORY_BANDWIDTH


def test_page_faults_that_leave_the_drive_idle_are_named():
    """0.9 of 6 GB/s: another drive would not help."""
    work = replace(_WORK, measured=replace(NOTHING_MEASURED, disk_bytes_per_second=6e9))
    seen = replace(STREAMING, workload=work, refaulted_share=0.0, read_bytes_per_second=0.9e9)
    found = find_bottleneck(seen)
    assert "lsblk" not in "".join(found.fix)
    assert found.fix[0].startswith("no other drive: in [engine] as many threads")
    assert found.reason.endswith(
        "; the drive gives 6.0 GB/s past the page cache, so page faults bind and not the drive"
    )


def test_a_prompt_has_no_read_ahead_to_blame():
    """A batch asks for nearly all experts, in order; a larger one reads them less often."""
    found = find_bottleneck(replace(STREAMING, decoding=False, read_per_fault_bytes=42.0 * _SLAB))
    assert found.word is Cause.MEMORY_CAPACITY
    assert found.fix[-1].startswith("raise ubatch_tokens")


@pytest.mark.parametrize(("fast", "threads"), [(None, "the number of physical cores"), (1, "1 "), (2, "the number of")])
def test_slow_cores_beside_fast_ones_are_left_out_in_the_remedy(fast, threads):
    """A hybrid processor computes faster with its fast cores alone."""
    found = find_bottleneck(replace(RESIDENT, workload=replace(_WORK, performance_cores_count=fast)))
    assert found.word is Cause.COMPUTE
    assert f"in [engine]: threads = {threads}" in found.fix[-1]
