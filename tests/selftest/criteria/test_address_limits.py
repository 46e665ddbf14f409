"""The gate on address space: at its limit, and by what is known of the need."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.criteria import memory
from streamworthy.facts.memory import AddressSpaceFacts
from streamworthy.probes.machine import Machine
from streamworthy.verdict import Word
from tests.selftest.criteria.asked import limit
from tests.selftest.probes.folder import captured, changed

GIB = 2**30
FACTS = AddressSpaceFacts(
    process="self",
    soft_bytes=400 * GIB,
    hard_bytes=400 * GIB,
    shards_bytes=363 * GIB,
    engine_bytes=2 * GIB,
    engine_unknown="",
    commit_left_bytes=None,
)
HEADERLESS = replace(FACTS, engine_bytes=None, engine_unknown="shard 1: bad magic")


def judge(facts, **changes):
    """Judge facts with some changed."""
    return memory.address_space(replace(facts, **changes), limit())


@pytest.mark.parametrize(
    ("soft", "word"),
    [(None, Word.PASS), (365 * GIB + 1, Word.PASS), (365 * GIB, Word.PASS), (365 * GIB - 1, Word.FAIL), (0, Word.FAIL)],
)
def test_shards_and_engine_have_to_fit(soft, word):
    """To the byte; no limit passes."""
    found = judge(FACTS, soft_bytes=soft)
    assert (found.word, found.value, found.required) == (word, soft, "at least 365.0 GiB to be mapped")


def test_a_soft_limit_below_a_sufficient_hard_one_needs_no_root():
    """The shell may raise it itself."""
    for hard in (None, 365 * GIB):
        found = judge(FACTS, soft_bytes=GIB, hard_bytes=hard)
        assert "which is enough" in found.cause
        assert found.fix[0] == f"ulimit -S -v {365 * 2**20}"


def test_a_low_hard_limit_has_a_remedy_for_shell_service_and_login():
    """limits.conf is not read by services."""
    found = judge(FACTS, soft_bytes=GIB, hard_bytes=GIB)
    assert "mmap of a shard fails with ENOMEM" in found.cause
    text = "\n".join(found.fix)
    assert all(part in text for part in ("ulimit -v unlimited", "LimitAS=infinity", "limits.d"))


@pytest.mark.parametrize(("soft", "word"), [(None, Word.PASS), (363 * GIB, Word.ERROR), (363 * GIB - 1, Word.FAIL)])
def test_without_headers_the_shards_alone_decide_what_they_can(soft, word):
    """A limit below them is too low in any case; one above is unknown."""
    found = judge(HEADERLESS, soft_bytes=soft)
    assert found.word is word
    assert ("bad magic" in found.cause) is (word is Word.ERROR)


def test_a_set_of_unknown_size_is_unknown():
    """Unless there is no limit."""
    found = judge(FACTS, shards_bytes=None)
    assert (found.word, "no shard tells the size of the set" in found.cause) == (Word.ERROR, True)
    assert judge(FACTS, shards_bytes=None, soft_bytes=None).word is Word.PASS
    assert judge(HEADERLESS, shards_bytes=None, soft_bytes=None).required == ""


def test_the_parts_are_in_the_evidence():
    """What was added up can be checked."""
    assert judge(FACTS).evidence == (
        "process=self",
        "soft=400.0 GiB",
        "hard=400.0 GiB",
        "shards=363.0 GiB",
        "engine=2.0 GiB",
    )


def test_a_captured_machine_with_a_limit_fails(tmp_path):
    """One line of its limits changed: 4.1 GB of address space for 390 GB of shards."""
    limits = captured("laptop-nvme").read_text("proc/self/limits")
    row = next(line for line in limits.splitlines() if line.startswith("Max address space"))
    low = "Max address space         4096000000           4096000000           bytes     "
    machine = Machine(changed(tmp_path, "laptop-nvme", {"proc/self/limits": limits.replace(row, low)}))
    found = memory.address_space(machine.address_space, limit())
    assert (found.word, found.measured, found.required) == (Word.FAIL, "3.8 GiB", "at least 363.2 GiB to be mapped")


@pytest.mark.parametrize(("left", "word"), [(2 * GIB - 1, Word.FAIL), (2 * GIB, Word.PASS), (2 * GIB + 1, Word.PASS)])
def test_what_may_still_be_promised_is_judged_against_the_engine_alone(left, word):
    """vm.overcommit_memory 2 counts private memory, and no file that is mapped shared."""
    found = judge(FACTS, commit_left_bytes=left)
    assert found.word is word
    assert word is Word.PASS or (found.cause, found.fix[0][:35]) == (
        "vm.overcommit_memory is 2: the engine's own memory is refused, however much is free",
        "sudo sysctl vm.overcommit_memory=0 ",
    )


def test_strict_accounting_with_an_unknown_need_is_an_error():
    """What cannot be compared is not passed; a limit of address space that is too low comes first."""
    assert judge(HEADERLESS, soft_bytes=None, commit_left_bytes=GIB).word is Word.ERROR
    assert judge(FACTS, soft_bytes=GIB, hard_bytes=GIB, commit_left_bytes=GIB).cause.startswith("RLIMIT_AS")
