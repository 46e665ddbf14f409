"""Limits and capabilities of a process."""

from __future__ import annotations

import contextlib
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamworthy.errors import ParseError, ProbeError
from streamworthy.facts.memory import MemlockFacts
from streamworthy.probes.process_limits import (
    ADDRESS_SPACE,
    LOCKED,
    parse_cpu_list,
    parse_limit,
    parse_status,
    probe_address_limits,
    probe_memlock,
)
from streamworthy.probes.sysroot import Sysroot
from tests.selftest.probes.folder import captured, changed

STATUS = "Name:\tcat\nVmLck:\t      64 kB\nCapEff:\t00000000a80425fb\nCpus_allowed_list:\t0-2,5\n"
ROW = "Max locked memory         {:<20} {:<20} bytes     \n"


@pytest.mark.parametrize(
    ("soft", "hard", "found"),
    [
        ("65536", "65536", (65536, 65536)),
        ("8388608", "unlimited", (8388608, None)),
        ("unlimited", "unlimited", (None, None)),
        ("0", "0", (0, 0)),
    ],
)
def test_soft_and_hard_limit_are_told_apart(soft, hard, found):
    """Both columns are read, and unlimited is no number."""
    assert parse_limit(ROW.format(soft, hard), LOCKED) == found
    row = ROW.format(soft, hard).replace(LOCKED, ADDRESS_SPACE)
    assert parse_limit(ROW + row, ADDRESS_SPACE) == found


@pytest.mark.parametrize("text", ["", "Max open files  1 1 files\n", ROW.format("many", "1"), "Max locked memory\n"])
def test_limits_without_locked_memory_are_a_parse_error(text):
    """A missing or malformed line is never taken for no limit."""
    with pytest.raises(ParseError, match="locked memory: /proc/PID/limits"):
        parse_limit(text, LOCKED)


def test_status_gives_capabilities_locked_bytes_and_affinity():
    """The whole record is read."""
    status = parse_status(STATUS)
    assert (status.effective_capabilities, status.locked_bytes, status.allowed_cpus) == (
        0xA80425FB,
        65536,
        (0, 1, 2, 5),
    )


def test_a_process_without_memory_has_no_locked_bytes():
    """Kernel threads and zombies have no VmLck line."""
    assert parse_status(STATUS.replace("VmLck:\t      64 kB\n", "")).locked_bytes is None


@pytest.mark.parametrize(
    "change", [("CapEff", "Cap"), ("00000000a80425fb", "none"), ("64 kB", "64 MB"), ("0-2", "2-0")]
)
def test_a_malformed_status_is_a_parse_error(change):
    """Each line that is needed is checked."""
    with pytest.raises(ParseError):
        parse_status(STATUS.replace(*change))


@pytest.mark.parametrize(
    ("text", "cpus"), [("0-3,8", (0, 1, 2, 3, 8)), ("7\n", (7,)), ("\n", ()), ("1,1-2", (1, 2)), ("0-0", (0,))]
)
def test_cpu_lists_are_read(text, cpus):
    """Ranges include both ends; an empty list is empty."""
    assert parse_cpu_list(text, where="/x") == cpus


@pytest.mark.parametrize("text", ["a", "3-1", "1,", "-1", "1--2", "1-2-3", "999999999", "\u0661"])
def test_a_malformed_cpu_list_is_a_parse_error(text):
    """What is no list names its file."""
    with pytest.raises(ParseError, match="list of CPUs: /x"):
        parse_cpu_list(text, where="/x")


def test_a_capability_of_a_user_namespace_is_none():
    """The kernel asks for CAP_IPC_LOCK in the first namespace, so one that maps its own ids does not count."""
    assert probe_memlock(captured("server-md-raid"), need_bytes=7) == MemlockFacts(
        process="self", soft_bytes=None, hard_bytes=None, capable=False, confined=False, locked_bytes=0, need_bytes=7
    )


@pytest.mark.parametrize(
    ("uid_map", "capable"),
    [
        ("         0          0 4294967295\n", True),
        ("         0       1000          1\n", False),
        ("         0     100000      65536\n", False),
        ("         0          0          1\n         1          1 4294967294\n", False),
    ],
)
def test_capable_means_bit_14_in_the_first_namespace(tmp_path, uid_map, capable):
    """Root of a container without user namespace may lock; root of a rootless one may not."""
    status = (captured("vm-virtio").path("proc/self/status")).read_text()
    root = changed(tmp_path, "vm-virtio", {"proc/self/uid_map": uid_map, "proc/self/status": status})
    found = probe_memlock(root, need_bytes=1)
    assert (found.capable, found.confined) == (capable, not capable)


def test_the_usual_docker_capabilities_lack_the_lock():
    """Root in a container has a short list of capabilities, without bit 14."""
    assert probe_memlock(captured("container-memory-limit"), need_bytes=1).capable is False


def test_another_process_is_asked_by_its_id(tmp_path):
    """The limit is that of the process that runs the engine, not of the shell that starts the suite."""
    root = changed(
        tmp_path,
        "laptop-nvme",
        {"proc/4242/limits": ROW.format("65536", "131072"), "proc/4242/status": STATUS, "proc/4242/uid_map": None},
    )
    assert probe_memlock(root, need_bytes=1, pid="4242") == MemlockFacts(
        process="4242",
        soft_bytes=65536,
        hard_bytes=131072,
        capable=False,
        confined=False,
        locked_bytes=65536,
        need_bytes=1,
    )


def test_a_process_that_is_gone_is_a_probe_error():
    """An engine that ended leaves its limit unknown."""
    with pytest.raises(ProbeError, match="/proc/999999999/limits: cannot be read"):
        probe_memlock(captured("laptop-nvme"), need_bytes=1, pid="999999999")


@pytest.mark.skipif(sys.platform != "linux", reason="asks this kernel; only Linux has /proc")
def test_the_prediction_agrees_with_mlock_itself():
    """A child with a 64 KiB limit can lock 1 MiB exactly when the facts say so."""
    script = (
        "import ctypes, mmap, resource\n"
        "from streamworthy.probes.process_limits import probe_memlock\n"
        "from streamworthy.probes.sysroot import Sysroot\n"
        "resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))\n"
        "facts = probe_memlock(Sysroot(), need_bytes=2**20)\n"
        "area = mmap.mmap(-1, 2**20)\n"
        "start = ctypes.addressof(ctypes.c_char.from_buffer(area))\n"
        "refused = ctypes.CDLL(None).mlock(ctypes.c_void_p(start), ctypes.c_size_t(2**20))\n"
        "print(facts.soft_bytes, facts.capable == (refused == 0))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["65536", "True"]


def test_this_process_can_be_asked():
    """The live files of this kernel parse, and say what getrlimit(2) says."""
    if sys.platform != "linux":
        pytest.skip("only Linux has /proc")
    import resource

    told = [-1 if value is None else value for value in probe_address_limits(Sysroot())]
    assert tuple(told) == resource.getrlimit(resource.RLIMIT_AS)
    assert probe_memlock(Sysroot(), need_bytes=1).process == "self"


@given(st.text() | st.builds("Max locked memory {}\nCapEff:{}\nVmLck:{}".format, st.text(), st.text(), st.text()))
def test_any_text_is_facts_or_a_parse_error(text):
    """No text makes a parser raise anything else."""
    for parse in (lambda each: parse_limit(each, LOCKED), parse_status, lambda each: parse_cpu_list(each, where="/x")):
        with contextlib.suppress(ParseError):
            parse(text)
