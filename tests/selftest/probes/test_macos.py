"""What macOS tells; psutil answers on every system, so its real answers are used here too."""

from __future__ import annotations

from types import SimpleNamespace

import psutil
import pytest

from streamworthy.errors import ProbeError
from streamworthy.probes.machine import Machine
from streamworthy.probes.macos import (
    probe_address_limits,
    probe_cpu,
    probe_host,
    probe_memlock,
    probe_memory,
    probe_swap,
    read_sysctl,
)
from streamworthy.probes.sysroot import Sysroot

SYSCTL = {"machdep.cpu.brand_string": "Apple M2 Pro", "kern.hv_vmm_present": "0", "hw.model": "MacBookPro18,3"}


def test_processor_and_cores_come_from_psutil_and_sysctl():
    """Cores are physical ones; flags are not told."""
    found = probe_cpu(SYSCTL.get, lambda: SimpleNamespace(machine="arm64"))
    assert (found.architecture, found.model_name, found.flags, found.hypervisor) == (
        "aarch64",
        "Apple M2 Pro",
        None,
        False,
    )
    assert found.physical_cores_count == psutil.cpu_count(logical=False)
    assert found.online_count == psutil.cpu_count(logical=True)


def test_memory_and_swap_come_from_psutil():
    """Totals are psutil's own."""
    memory, swap = probe_memory(), probe_swap()
    assert memory.total_bytes == psutil.virtual_memory().total
    assert 0 < memory.working_available_bytes <= memory.total_bytes
    assert swap.size_bytes == psutil.swap_memory().total


def test_a_mac_is_named_by_its_model():
    """A model with book in its name is a laptop."""
    assert (probe_host(SYSCTL.get).machine_class, probe_host(SYSCTL.get).product) == ("laptop", "Apple MacBookPro18,3")
    assert probe_host({"hw.model": "Mac14,12"}.get).machine_class == "desktop"


def test_our_own_limits_are_read():
    """The call getrlimit tells them for this process, and for no other."""
    assert probe_memlock(need_bytes=5).need_bytes == 5
    assert len(probe_address_limits()) == 2
    with pytest.raises(ProbeError, match="address space of process 1: macOS tells a process its own limits only"):
        probe_address_limits(pid="1")
    with pytest.raises(ProbeError, match="tells a process its own limits only"):
        probe_memlock(need_bytes=5, pid="1")


def test_a_value_that_sysctl_does_not_have_is_none():
    """Neither a missing name nor a missing program raises."""
    assert read_sysctl("no.such.name") is None


def test_a_machine_on_macos_starts_and_says_why_the_rest_is_unknown():
    """Facts that psutil has are there; kernel and volumes are errors with a reason."""
    machine = Machine(Sysroot(), system="darwin")
    assert machine.memory.total_bytes == psutil.virtual_memory().total
    assert machine.cpu.flags is None
    for name in ("kernel", "volumes"):
        with pytest.raises(ProbeError):
            getattr(machine, name)
