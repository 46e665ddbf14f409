"""Whether the processor can run the engine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.criteria import cpu
from streamworthy.verdict import Word, verdict
from tests.selftest.criteria.asked import limit
from tests.selftest.facts.test_cpu import CPU
from tests.selftest.gguf.test_kv_cache import PLAN

BOTH = limit(one_of=("x86_64", "aarch64"))
SETS = limit(x86_64=("avx2", "fma"), aarch64=("asimd",))


def test_a_listed_architecture_passes():
    """The whole verdict of a pass."""
    assert cpu.architecture(CPU, BOTH) == verdict(
        Word.PASS, measured="x86_64", required="one of x86_64, aarch64", evidence=("model_name=Example 1",)
    )


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"architecture": "riscv64"}, "the processor is riscv64, for which this tier has no limits"),
        ({"pointer_bits": 32}, "Python is a 32-bit program, whose address space cannot hold the model"),
    ],
)
def test_another_architecture_or_a_32_bit_program_fails(change, cause):
    """A 32-bit system on a 64-bit kernel says aarch64 and cannot map the model."""
    found = cpu.architecture(replace(CPU, **change), BOTH)
    assert (found.word, found.cause, bool(found.fix)) == (Word.FAIL, cause, True)


def test_a_captured_machine_passes_without_the_width_of_a_program():
    """The width is that of this process, which a capture does not have."""
    assert cpu.architecture(replace(CPU, pointer_bits=None), BOTH).word is Word.PASS


@pytest.mark.parametrize(("asked", "word"), [(7, Word.PASS), (8, Word.PASS), (9, Word.FAIL)])
def test_cores_are_judged_at_their_limit(asked, word):
    """Eight cores meet seven and eight, and miss nine."""
    found = cpu.physical_cores(CPU, PLAN, limit(at_least=asked))
    assert (found.word, found.value, found.measured, found.required) == (word, 8, "8", f"at least {asked}")


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"quota_cores": 4.5}, "a control group's CPU quota allows 4.50 of 8 cores"),
        ({"allowed_count": 4, "physical_cores_count": 2}, "affinity or a cpuset allows 4 of 16 logical CPUs"),
        ({"physical_cores_count": 2, "hypervisor": True}, "the hypervisor gives this guest few cores"),
        (
            {"physical_cores_count": 4},
            "the processor has few cores; hardware threads of one core share its arithmetic units",
        ),
    ],
)
def test_too_few_cores_name_what_takes_them(change, cause):
    """Quota, affinity, guest and processor need different remedies."""
    found = cpu.physical_cores(replace(CPU, **change), PLAN, limit(at_least=8))
    assert (found.word, found.cause) == (Word.FAIL, cause)


@pytest.mark.parametrize(
    ("threads", "change", "word"),
    [
        (None, {"quota_cores": 4.0}, Word.PASS),
        (4, {"quota_cores": 4.9}, Word.PASS),
        (5, {"quota_cores": 4.9}, Word.FAIL),
        (16, {}, Word.PASS),
        (17, {}, Word.FAIL),
        (3, {"allowed_count": 2}, Word.FAIL),
        (2, {"quota_cores": 0.5}, Word.FAIL),
        (1, {"quota_cores": 0.5}, Word.PASS),
    ],
)
def test_more_threads_than_may_run_at_once_fail(threads, change, word):
    """A throttled thread holds up every barrier: 8 threads with 4 CPUs ran at a fortieth of the speed of 4."""
    found = cpu.physical_cores(replace(CPU, **change), replace(PLAN, threads=threads), limit(at_least=1))
    assert found.word is word
    assert ("threads = " in "".join(found.fix)) == (word is Word.FAIL)


def test_the_number_of_threads_to_use_is_named():
    """Rounded down, and not more than there are cores."""
    found = cpu.physical_cores(replace(CPU, quota_cores=7.65), replace(PLAN, threads=8), limit(at_least=1))
    assert found.fix[0] == "in [engine] of the tier: threads = 7"
    assert found.required == "at least 1, and 8 threads at once"
    assert cpu.physical_cores(CPU, replace(PLAN, threads=32), limit(at_least=1)).fix[0].endswith("threads = 8")


def test_the_evidence_tells_affinity_and_quota():
    """A number of cores alone does not say why."""
    assert cpu.physical_cores(replace(CPU, quota_cores=2.0), PLAN, limit(at_least=1)).evidence == (
        "physical_cores_in_affinity=8",
        "performance_cores=all alike",
        "logical_cpus_allowed=16",
        "logical_cpus_online=16",
        "cpu_quota=2.00",
    )


def test_unknown_cores_are_an_error():
    """Unknown is neither enough nor too few."""
    unseen = replace(CPU, cores_unknown="no topology", physical_cores_count=None)
    found = cpu.physical_cores(unseen, PLAN, limit(at_least=1))
    assert (found.word, found.cause) == (Word.ERROR, "physical cores are not known: no topology")
    assert "lscpu" in found.fix[0]


def test_a_quota_that_cannot_be_seen_has_its_own_remedy():
    """The cores are known, and no list of them helps."""
    found = cpu.physical_cores(replace(CPU, cores_unknown="limits cannot be seen"), PLAN, limit(at_least=1))
    assert (found.word, "/sys/fs/cgroup" in found.fix[0]) == (Word.ERROR, True)


@pytest.mark.parametrize(
    ("change", "word", "measured"),
    [
        ({"flags": ("avx2", "fma", "fpu")}, Word.PASS, "avx2, fma"),
        ({"flags": ("avx2",)}, Word.FAIL, "without fma"),
        ({"flags": ()}, Word.FAIL, "without avx2, fma"),
        ({"architecture": "aarch64", "flags": ("asimd",)}, Word.PASS, "asimd"),
        ({"architecture": "aarch64", "flags": ("fp",)}, Word.FAIL, "without asimd"),
        ({"flags": None}, Word.ERROR, "unknown"),
        ({"architecture": "riscv64"}, Word.ERROR, "unknown"),
    ],
)
def test_instruction_sets_are_asked_by_architecture(change, word, measured):
    """Each architecture has its own list; what cannot be read is an error."""
    found = cpu.instruction_set(replace(CPU, **change), SETS)
    assert (found.word, found.measured) == (word, measured)


@pytest.mark.parametrize(
    ("changes", "cause", "fix"),
    [
        ({"hypervisor": True}, "hypervisor hides it", "host-passthrough"),
        ({"hypervisor": False}, "the processor has no avx2, fma", "build the engine on this machine"),
        ({"partial_flags": ("avx2", "fma", "vmx")}, "some of the CPUs that this process may use", "taskset -c LIST"),
        ({"partial_flags": ("fma",)}, "the processor has no avx2, fma", "choose a machine"),
    ],
)
def test_a_missing_instruction_set_names_its_likely_cause(changes, cause, fix):
    """In a guest it may only be masked; CPUs that have it may stand beside others that do not."""
    found = cpu.instruction_set(replace(CPU, flags=(), **changes), SETS)
    assert cause in found.cause
    assert fix in "\n".join(found.fix)


@pytest.mark.parametrize(
    ("changes", "cause", "fix"),
    [
        ({}, "(the machine has 16 logical CPUs)", ""),
        ({"allowed_count": 4}, "(affinity to 4 of 16 logical CPUs)", "without taskset"),
        ({"quota_cores": 2.5}, "(CPU quota of 2.50)", "CPUQuota=N00%"),
        ({"quota_cores": 2.5, "allowed_count": 2}, "(affinity to 2 of 16 logical CPUs)", "without taskset"),
        ({"allowed_count": None}, "(the machine has 16 logical CPUs)", ""),
    ],
)
def test_too_many_threads_name_what_binds(changes, cause, fix):
    """Quota, affinity and the machine itself: only the first two can be raised."""
    found = cpu.physical_cores(replace(CPU, **changes), replace(PLAN, threads=40), limit(at_least=1))
    assert cause in found.cause
    assert found.fix[0].startswith("in [engine] of the tier: threads = ")
    assert (fix in "\n".join(found.fix[1:]), len(found.fix)) == (True, 2 if fix else 1)
