"""Whether memory, its limits and locked memory are what a tier needs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.criteria import memory
from streamworthy.facts.memory import MemlockFacts
from streamworthy.verdict import Word, verdict
from tests.selftest.criteria.asked import limit
from tests.selftest.facts.test_memory import GIB, GROUP, MEMORY

MIB = 2**20
FREE = replace(MEMORY, groups=())
LOCK = MemlockFacts(
    process="self",
    soft_bytes=8 * MIB,
    hard_bytes=8 * MIB,
    capable=False,
    confined=False,
    locked_bytes=0,
    need_bytes=64 * MIB,
)


@pytest.mark.parametrize(
    ("asked", "word"), [(64 * GIB - 1, Word.PASS), (64 * GIB, Word.PASS), (64 * GIB + 1, Word.FAIL)]
)
def test_memory_is_judged_at_its_limit(asked, word):
    """To the byte."""
    found = memory.total(MEMORY, limit(at_least=asked))
    assert (found.word, found.measured, found.value) == (word, "64.0 GiB", 64 * GIB)


def test_too_little_memory_of_a_wsl_guest_is_windows_choice():
    """The remedy stands in .wslconfig, each key on a line of its own."""
    found = memory.total(replace(MEMORY, wsl=True), limit(at_least=65 * GIB))
    assert "Windows gives this WSL guest only a part" in found.cause
    assert ".wslconfig" in found.fix[0]
    assert "wsl --shutdown" in found.fix[-1]


@pytest.mark.parametrize(
    ("asked", "word"), [(31 * GIB - 1, Word.PASS), (31 * GIB, Word.PASS), (31 * GIB + 1, Word.FAIL)]
)
def test_available_memory_is_judged_at_its_limit(asked, word):
    """The group's 31 GiB count, not the system's 55."""
    found = memory.available(MEMORY, limit(at_least=asked))
    assert (found.word, found.measured) == (word, "31.0 GiB")
    assert found.evidence == (
        "MemAvailable=55.0 GiB",
        "MemFree=2.0 GiB",
        "cgroup /a=31.0 GiB left of 32.0 GiB",
    )


def test_page_cache_is_not_used_memory():
    """1 GiB free, 180 GiB of cache: what can be given back counts."""
    cached = replace(FREE, free_bytes=GIB, available_bytes=178 * GIB)
    assert memory.available(cached, limit(at_least=160 * GIB)).word is Word.PASS


@pytest.mark.parametrize(
    ("facts", "cause"),
    [
        (FREE, "other programs hold the memory"),
        (replace(FREE, total_bytes=8 * GIB, available_bytes=7 * GIB), "the machine has only 8.0 GiB in all"),
        (replace(MEMORY, available_bytes=70 * GIB), "a control group leaves less than the system has (70.0 GiB)"),
    ],
)
def test_too_little_available_memory_names_what_holds_it(facts, cause):
    """Programs, machine and control group need different remedies."""
    found = memory.available(facts, limit(at_least=60 * GIB))
    assert (found.word, found.cause) == (Word.FAIL, cause)


@pytest.mark.parametrize(
    "facts",
    [
        replace(MEMORY, available_bytes=None),
        replace(MEMORY, groups=(), groups_unknown="group cannot be seen"),
        replace(MEMORY, groups=(replace(GROUP, usage_bytes=None),)),
    ],
)
def test_unknown_available_memory_is_an_error(facts):
    """An old kernel, a hidden group, a group without usage."""
    found = memory.available(facts, limit(at_least=GIB))
    assert (found.word, found.cause.startswith("available memory is not known: ")) == (Word.ERROR, True)


def test_a_system_that_is_short_fails_whatever_a_hidden_group_allows():
    """A group can only take more away."""
    hidden = replace(FREE, groups_unknown="group cannot be seen")
    assert memory.available(hidden, limit(at_least=60 * GIB)).word is Word.FAIL


def test_no_limit_passes():
    """The whole verdict of a machine without limits."""
    assert memory.limit(FREE, limit(at_least=16 * GIB)) == verdict(
        Word.PASS, measured="no limit", required="at least 16.0 GiB", unit="bytes"
    )


@pytest.mark.parametrize(
    ("asked", "word"), [(32 * GIB - 1, Word.PASS), (32 * GIB, Word.PASS), (32 * GIB + 1, Word.FAIL)]
)
def test_a_limit_is_judged_at_its_limit(asked, word):
    """The group with the limit is in the evidence."""
    found = memory.limit(MEMORY, limit(at_least=asked))
    assert (found.word, found.value, found.evidence) == (word, 32 * GIB, ("cgroup=/a", "version=2", "limit=32.0 GiB"))


def test_a_limit_above_the_machines_memory_allows_only_that():
    """A limit of 128 GiB on 64 GiB is 64 GiB."""
    found = memory.limit(replace(MEMORY, groups=(replace(GROUP, limit_bytes=128 * GIB),)), limit(at_least=65 * GIB))
    assert (found.word, found.value) == (Word.FAIL, 64 * GIB)
    assert found.cause == "the machine has less memory than its control group allows"


@pytest.mark.parametrize(("high", "word"), [(None, Word.PASS), (16 * GIB, Word.PASS), (16 * GIB - 1, Word.ADVICE)])
def test_a_throttling_limit_is_advised_against(high, word):
    """memory.high does not end the process but slows it down."""
    facts = replace(MEMORY, groups=(replace(GROUP, high_bytes=high),))
    assert memory.limit(facts, limit(at_least=16 * GIB)).word is word


def test_an_unknown_limit_is_an_error():
    """A group that cannot be seen may have one."""
    found = memory.limit(replace(FREE, groups_unknown="group cannot be seen"), limit(at_least=GIB))
    assert (found.word, found.cause) == (Word.ERROR, "memory limit is not known: group cannot be seen")


@pytest.mark.parametrize(
    ("soft", "word"),
    [
        (64 * MIB - 1, Word.FAIL),
        (64 * MIB, Word.PASS),
        (64 * MIB + 1, Word.PASS),
        (None, Word.PASS),
        (0, Word.FAIL),
    ],
)
def test_locked_memory_is_judged_at_its_limit(soft, word):
    """The soft limit is what the kernel applies; unlimited is enough for everything."""
    assert memory.memlock(replace(LOCK, soft_bytes=soft), None, limit()).word is word


def test_the_capability_overrides_any_limit():
    """The whole verdict of a privileged process with 8 MiB."""
    assert memory.memlock(replace(LOCK, capable=True), None, limit()) == verdict(
        Word.PASS,
        measured="unlimited (CAP_IPC_LOCK; limit 8.0 MiB)",
        required="at least 64.0 MiB to be locked",
        value=8 * MIB,
        unit="bytes",
        evidence=("process=self", "soft=8.0 MiB", "hard=8.0 MiB", "cap_ipc_lock=True", "already_locked=0 B"),
    )


@pytest.mark.parametrize(("proved", "word"), [(64 * MIB - 1, Word.FAIL), (64 * MIB, Word.PASS)])
def test_what_was_locked_decides_over_what_limits_say(proved, word):
    """A limit can lie, in a user namespace for one; VmLck of an engine child cannot."""
    found = memory.memlock(replace(LOCK, soft_bytes=None), proved, limit())
    assert found.word is word
    assert found.evidence[-1].startswith("locked_by_an_engine_child=")


def test_nothing_to_lock_is_not_applicable_and_shows_the_limit():
    """A reader still sees what is allowed."""
    found = memory.memlock(replace(LOCK, need_bytes=0), None, limit())
    assert (found.word, found.measured, found.cause) == (Word.NOT_APPLICABLE, "8.0 MiB", "the tier locks no memory")


@pytest.mark.parametrize(("hard", "fix"), [(None, "ulimit -S -l 65536"), (64 * MIB, "ulimit -S -l 65536")])
def test_a_soft_limit_below_a_sufficient_hard_one_needs_no_root(hard, fix):
    """The shell itself can raise it."""
    found = memory.memlock(replace(LOCK, hard_bytes=hard), None, limit())
    assert (found.word, found.fix[0]) == (Word.FAIL, fix)
    assert "the soft limit is lower than the hard one" in found.cause


def test_a_low_hard_limit_has_a_remedy_for_shell_service_and_container():
    """Services do not read limits.conf."""
    found = memory.memlock(LOCK, None, limit())
    assert found.cause == "RLIMIT_MEMLOCK is too low and the process has no CAP_IPC_LOCK"
    assert [line.partition(" ")[0] for line in found.fix] == ["login", "service", "container:"]
    assert "LimitMEMLOCK=infinity" in found.fix[1]


def test_a_rootless_container_is_bound_by_its_user_s_limit():
    """Its root has the capability and may not use it; --ulimit cannot go beyond what the user has on the host."""
    found = memory.memlock(replace(LOCK, confined=True), None, limit())
    assert found.cause.endswith("CAP_IPC_LOCK counts in the first user namespace only, and this is another")
    assert found.fix[0].startswith("rootless container: raise its user's own limit on the host first")
    assert "podman run --ulimit memlock=-1:-1" in found.fix[-1]
