"""Processor, cores and CPU time of this process."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamworthy.errors import ParseError, ProbeError
from streamworthy.facts.cpu import CpuFacts
from streamworthy.probes.cpu import Processor, parse_cpuinfo, probe_cpu, spell_architecture
from tests.selftest.probes.folder import captured, changed, machine_of

X86 = "processor\t: {}\nmodel name\t: Example 1\nphysical id\t: 0\ncore id\t\t: {}\nflags\t\t: fpu avx2 {}\n\n"
STATUS = "CapEff:\t0000000000000000\nCpus_allowed_list:\t{}\n"
TOPOLOGY = "sys/devices/system/cpu/cpu{}/topology/{}"


def small(allowed="0-3", **files):
    """Give the files of a machine with four logical CPUs on two cores, known from cpuinfo alone."""
    cpuinfo = "".join(X86.format(index, index // 2, "fma") for index in range(4))
    return {"proc/cpuinfo": cpuinfo, "proc/self/status": STATUS.format(allowed)} | files


def test_the_whole_record_of_a_captured_guest():
    """Every fact of a two-core guest is read from its files."""
    found = probe_cpu(captured("vm-virtio"))
    assert found == CpuFacts(
        architecture="x86_64",
        pointer_bits=None,
        model_name="AMD EPYC",
        hypervisor=True,
        flags=found.flags,
        partial_flags=(),
        online_count=2,
        allowed_count=2,
        physical_cores_count=2,
        performance_cores_count=None,
        quota_cores=None,
        cores_unknown="",
    )
    assert {"avx2", "fma", "f16c", "avx512_vnni"} <= set(found.flags)


@pytest.mark.parametrize(
    ("name", "cores", "logical"),
    [
        ("laptop-nvme", 12, 16),  # four cores with two threads, eight with one
        ("laptop-luks-lvm", 8, 16),
        ("desktop-sata-hdd", 6, 12),
        ("usb-enclosure", 4, 8),
        ("server-md-raid", 16, 32),  # two sockets whose core ids are the same
        ("board-aarch64", 8, 8),  # three clusters whose core ids are the same
        ("wsl2-drvfs", 8, 16),
        ("container-memory-limit", 8, 16),
    ],
)
def test_hardware_threads_are_not_cores(name, cores, logical):
    """Cores are counted once whatever their threads, sockets and clusters."""
    found = probe_cpu(captured(name))
    assert (found.physical_cores_count, found.online_count) == (cores, logical)


def test_cores_of_clusters_are_told_apart_without_the_list_of_threads(tmp_path):
    """On arm64 core_id starts anew in each cluster, so the cluster belongs to a core's name."""
    lists = {
        TOPOLOGY.format(index, name): None for index in range(8) for name in ("core_cpus_list", "thread_siblings_list")
    }
    assert probe_cpu(changed(tmp_path, "board-aarch64", lists)).physical_cores_count == 8


def test_cores_are_told_by_package_and_core_id(tmp_path):
    """Two sockets with equal core ids have twice the cores."""
    ids = {TOPOLOGY.format(cpu, "core_id"): f"{cpu % 2}\n" for cpu in range(4)}
    packages = {TOPOLOGY.format(cpu, "physical_package_id"): f"{cpu // 2}\n" for cpu in range(4)}
    assert probe_cpu(machine_of(tmp_path, small() | ids | packages)).physical_cores_count == 4


def test_cpuinfo_tells_cores_where_sysfs_does_not(tmp_path):
    """x86 kernels print core ids in /proc/cpuinfo too."""
    found = probe_cpu(machine_of(tmp_path, small()))
    assert (found.physical_cores_count, found.allowed_count, found.cores_unknown) == (2, 4, "")


def test_cores_without_any_topology_are_unknown(tmp_path):
    """No topology is not one core a CPU."""
    text = small()["proc/cpuinfo"].replace("core id", "kernel id")
    found = probe_cpu(machine_of(tmp_path, small() | {"proc/cpuinfo": text}))
    assert (found.physical_cores_count, found.usable_cores_count) == (None, None)
    assert "topology" in found.cores_unknown


@pytest.mark.parametrize(("allowed", "logical", "cores"), [("0-1", 2, 1), ("0,2", 2, 2), ("3", 1, 1), ("0-127", 4, 2)])
def test_affinity_narrows_cores(tmp_path, allowed, logical, cores):
    """Only cores with an allowed CPU count; a mask may name CPUs that are possible but absent."""
    found = probe_cpu(machine_of(tmp_path, small(allowed)))
    assert (found.allowed_count, found.physical_cores_count, found.online_count) == (logical, cores, 4)


def test_an_affinity_without_an_online_cpu_is_a_probe_error(tmp_path):
    """Facts that contradict each other are unknown."""
    with pytest.raises(ProbeError, match="names no CPU that is online"):
        probe_cpu(machine_of(tmp_path, small("7")))


@pytest.mark.parametrize(
    ("quota", "usable"), [("max 100000", 2), ("765000 100000", 2), ("190000 100000", 1), ("50000 100000", 1)]
)
def test_a_quota_is_rounded_down_to_whole_cores(tmp_path, quota, usable):
    """A thread that waits for its next period stops the others at the barrier; one core is always left."""
    files = {"proc/self/cgroup": "0::/job\n", "sys/fs/cgroup/job/cpu.max": f"{quota}\n"}
    assert probe_cpu(machine_of(tmp_path, small() | files)).usable_cores_count == usable


def test_a_quota_that_cannot_be_seen_leaves_usable_cores_unknown(tmp_path):
    """The count within affinity is still told."""
    found = probe_cpu(machine_of(tmp_path, small() | {"proc/self/cgroup": "0::/../job\n"}))
    assert (found.physical_cores_count, found.usable_cores_count) == (2, None)
    assert "cannot be seen" in found.cores_unknown


HYBRID = {"sys/devices/cpu_core/cpus": "0-1\n", "sys/devices/cpu_atom/cpus": "2-3\n"}


def capacities(*values):
    """Give the capacity of each CPU, as arm64 kernels do."""
    return {f"sys/devices/system/cpu/cpu{index}/cpu_capacity": f"{value}\n" for index, value in enumerate(values)}


@pytest.mark.parametrize(
    ("files", "allowed", "fast"),
    [
        ({}, "0-3", None),
        (HYBRID, "0-3", 1),  # two hardware threads of one core
        (HYBRID, "0-1", None),  # what is left is of one kind
        (HYBRID, "2-3", None),
        (HYBRID, "1,3", 1),
        ({"sys/devices/cpu_core/cpus": "0-3\n"}, "0-3", None),
        (HYBRID | {"sys/devices/cpu_atom/cpus": None, "sys/devices/cpu_lowpower/cpus": "2-3\n"}, "0-3", 1),
        (HYBRID | {"sys/devices/cpu_core/cpus": "all of them\n"}, "0-3", None),
        (capacities(446, 446, 1024, 1024), "0-3", 1),
        (capacities(1024, 1024, 1024, 1024), "0-3", None),
        (capacities(280, 280, 870, 1024), "0-3", 1),
    ],
)
def test_fast_cores_are_counted_beside_slow_ones(tmp_path, files, allowed, fast):
    """Intel's kinds and arm64's capacities; where all are alike nothing is told."""
    there = {name: text for name, text in files.items() if text is not None}
    assert probe_cpu(machine_of(tmp_path, small(allowed) | there)).performance_cores_count == fast


def test_a_hybrid_laptop_has_four_fast_cores_of_twelve():
    """Both counts are told: the engine's threads wait for the slowest of them."""
    found = probe_cpu(captured("laptop-nvme"))
    assert (found.physical_cores_count, found.performance_cores_count) == (12, 4)


def test_flags_are_those_of_every_allowed_cpu(tmp_path):
    """A flag that one allowed core lacks cannot be used, however many others have it."""
    files = small("0-1") | {"proc/cpuinfo": X86.format(0, 0, "fma") + X86.format(1, 1, "f16c") + X86.format(2, 2, "")}
    found = probe_cpu(machine_of(tmp_path, files))
    assert (found.flags, found.partial_flags) == (("avx2", "fpu"), ("f16c", "fma"))


def test_an_aarch64_board_has_features_and_no_model_name():
    """arm64 spells the line Features and prints part numbers."""
    found = probe_cpu(captured("board-aarch64"))
    assert (found.architecture, found.model_name, found.hypervisor) == ("aarch64", None, False)
    assert {"asimd", "asimddp", "fphp"} <= set(found.flags)


def test_an_architecture_without_flags_has_none(tmp_path):
    """POWER prints no flags: unknown, not empty."""
    cpuinfo = "processor\t: 0\ncpu\t\t: POWER9\nclock\t: 3800MHz\n"
    root = machine_of(tmp_path, small("0") | {"proc/cpuinfo": cpuinfo}, '[uname]\nmachine = "ppc64le"\n')
    assert (probe_cpu(root).flags, probe_cpu(root).architecture) == (None, "ppc64le")


def test_a_capture_without_uname_is_a_probe_error(tmp_path):
    """The architecture is not guessed from this machine."""
    with pytest.raises(ProbeError, match=r"machine.toml: \[uname\] machine is missing"):
        probe_cpu(machine_of(tmp_path, small(), answers=""))


@pytest.mark.parametrize(("said", "spelled"), [("arm64", "aarch64"), ("amd64", "x86_64"), ("riscv64", "riscv64")])
def test_architectures_are_spelled_as_linux_does(said, spelled):
    """Tier files need one word for each."""
    assert spell_architecture(said) == spelled


def test_a_block_about_the_board_is_no_processor():
    """Raspberry Pi kernels end the file with hardware and serial number."""
    text = "processor\t: 0\nFeatures\t: fp asimd\n\nHardware\t: BCM2835\nModel\t\t: Raspberry Pi 5\n"
    assert parse_cpuinfo(text) == (
        Processor(index=0, model_name=None, flags=frozenset(("fp", "asimd")), package_id=None, core_id=None),
    )


@pytest.mark.parametrize("text", ["", "processor\t: first\n", "model name\t: x\n", "processor\t: \u0661\n"])
def test_a_text_without_processors_is_a_parse_error(text):
    """No processor is an error and not a machine with none."""
    with pytest.raises(ParseError, match="processors: /proc/cpuinfo"):
        parse_cpuinfo(text)


@given(st.text() | st.builds("processor: {}\ncore id: {}\nflags: {}\n".format, st.text(), st.text(), st.text()))
def test_any_text_is_processors_or_a_parse_error(text):
    """No text makes the parser raise anything else."""
    with contextlib.suppress(ParseError):
        assert parse_cpuinfo(text)


def test_a_capture_tells_the_width_of_the_program():
    """A 64-bit kernel may run a 32-bit system; older captures do not say."""
    assert probe_cpu(captured("board-pi5-sd-card-32bit")).pointer_bits == 32
    assert probe_cpu(captured("laptop-nvme")).pointer_bits is None
