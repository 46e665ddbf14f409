"""Rounds of reads beside the counters of devices."""

from __future__ import annotations

import os

import pytest

from streamworthy.bench.direct_reads import Done
from streamworthy.bench.metering import Meter
from streamworthy.facts.disk import ReadRate, others_read
from streamworthy.probes.sysroot import Sysroot

DONE = Done(seconds=2.0, useful_bytes=2**20, pieces_count=1, latencies_seconds=())
ROUNDS = {"path": "mmap faults", "block_bytes": 4096, "lanes": 2}


class Machine:
    """A device and a process whose counters a test moves."""

    def __init__(self, folder):
        (folder / "proc" / "self").mkdir(parents=True)
        (folder / "machine.toml").write_text("")
        self.root, self.device, self.own = Sysroot(folder), 0, 0
        self._io = folder / f"proc/{os.getpid()}/io"
        self._io.parent.mkdir()
        self.read(0, 0)

    def read(self, own, others):
        """Let the device read for this process and for others."""
        self.own += own
        self.device += own + others
        self._io.write_text(f"read_bytes: {self.own}\n")
        self.root.path("proc/diskstats").write_text(f"   8 0 sda 1 0 {self.device // 512} 5 0 0 0 0 0 5 5\n")
        return DONE


@pytest.fixture
def machine(tmp_path):
    """A machine with one device."""
    return Machine(tmp_path)


def test_bytes_of_all_rounds_are_added_up(machine):
    """Whole record of two rounds without preparation, one of them with somebody else's bytes."""
    meter = Meter(root=machine.root, devices=("sda",))
    runs = [lambda: machine.read(2**20, 0), lambda: machine.read(2**20, 2**22)]
    assert meter.rounds(runs, **ROUNDS) == ReadRate(
        path="mmap faults",
        block_bytes=4096,
        lanes_count=2,
        rates_bytes_per_second=(2**19, 2**19),
        seconds=4.0,
        useful_bytes=2**21,
        own_bytes=2**21,
        device_bytes=2**21 + 2**22,
        resident_share=None,
    )


@pytest.mark.parametrize(("disturbed", "times", "device"), [(0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 3, 5)])
def test_a_cold_round_that_others_disturb_is_done_again_twice(machine, disturbed, times, device):
    """The last attempt counts; each begins cold again."""
    prepared = []

    def run():
        return machine.read(2**20, 2**22 if len(prepared) <= disturbed else 0)

    def prepare():
        prepared.append(True)
        return 0.001 * len(prepared)

    found = Meter(root=machine.root, devices=("sda",)).rounds([run], prepare=prepare, **ROUNDS)
    assert (len(prepared), found.device_bytes) == (times, device * 2**20)
    assert found.resident_share == 0.001 * times


def test_unknown_devices_leave_the_sum_unknown(machine):
    """So does a kernel that does not account a process's reads."""
    found = Meter(root=machine.root, devices=()).rounds([lambda: machine.read(2**20, 0)], **ROUNDS)
    assert (found.device_bytes, found.own_bytes) == (None, 2**20)
    machine._io.unlink()
    found = Meter(root=machine.root, devices=("sda",)).rounds([lambda: DONE], **ROUNDS)
    assert (found.device_bytes, found.own_bytes) == (0, None)


@pytest.mark.parametrize(
    ("device", "own", "others"),
    [(None, 1, False), (1, None, False), (2**20, 2**20, False), (2**18, 0, False), (2**18 + 1, 0, True)],
)
def test_others_read_what_this_process_did_not(device, own, others):
    """A twentieth and a quarter of a MiB are room for the filesystem's own reads."""
    assert others_read(device, own) is others
