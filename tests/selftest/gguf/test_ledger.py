"""The ledger: each line's size, and what it says of where the size comes from."""

from dataclasses import replace

import pytest

from streamworthy.errors import ProbeError
from streamworthy.facts.fit import LedgerLine
from streamworthy.facts.memory import BoundMemory, CgroupMemory, HeldMemory, MemoryFacts
from streamworthy.gguf.ledger import estimate_compute_bytes
from streamworthy.gguf.subject import Subject
from tests.selftest.gguf import tiny
from tests.selftest.gguf.test_kv_cache import PLAN

MEMORY = MemoryFacts(
    total_bytes=32 * 2**30,
    free_bytes=2**30,
    page_cache_bytes=20 * 2**30,
    available_bytes=24 * 2**30,
    groups=(),
    groups_unknown="",
    wsl=False,
    held=None,
    bound=None,
)
GROUP = CgroupMemory(
    path="/engine.slice",
    version=2,
    limit_bytes=8 * 2**30,
    high_bytes=None,
    usage_bytes=3 * 2**30,
    inactive_file_bytes=2**30,
    active_file_bytes=0,
)


@pytest.fixture
def subject(tmp_path):
    """Give a small model with experts."""
    (tmp_path / "m.gguf").write_bytes(tiny.gpt_oss())
    return Subject(tmp_path / "m.gguf")


def test_every_line_has_its_size_and_basis(subject):
    """Weights come from headers, the cache from the plan, and what is estimated says so."""
    found = subject.ledger(PLAN, MEMORY)
    sizes, kv = subject.sizes, subject.kv(PLAN)
    header = subject.headers[0].header
    assert found.dense == LedgerLine(
        name="dense weights",
        size_bytes=sizes.total_bytes - sizes.expert_bytes,
        basis="headers: all but routed experts",
    )
    assert found.experts == LedgerLine(
        name="expert weights", size_bytes=sizes.expert_bytes, basis="headers: tensors *_exps"
    )
    assert found.anonymous == (
        LedgerLine(
            name="KV cache",
            size_bytes=kv.total_bytes,
            basis="4096 tokens, 1 slot, f16: grouped-query attention, sliding window of 128",
        ),
        LedgerLine(
            name="compute buffers",
            size_bytes=estimate_compute_bytes(subject.metadata, sizes, kv, PLAN),
            basis="estimate for micro-batches of 512 tokens",
        ),
        LedgerLine(
            name="engine and tokenizer",
            size_bytes=200 * 2**20 + 12 * header.header_bytes,
            basis="estimate: 200 MiB and 12 times the header",
        ),
    )
    assert (found.available_bytes, found.available_basis, found.partial) == (24 * 2**30, "MemAvailable", False)


def test_a_servers_prompt_cache_is_a_line_of_its_own(subject):
    """8 GiB that llama-server keeps unless it is told not to are memory that cannot be dropped."""
    found = subject.ledger(replace(PLAN, prompt_cache_bytes=8 * 2**30), MEMORY)
    assert [(line.name, line.size_bytes) for line in found.anonymous][-1] == ("prompt cache", 8 * 2**30)


def test_a_locked_region_is_a_line_of_its_own(subject):
    """What the tier locks beside the weights has to be there as well; locking the weights adds nothing."""
    found = subject.ledger(replace(PLAN, lock_bytes=64 * 2**20), MEMORY)
    assert found.anonymous[-1] == LedgerLine(name="locked region", size_bytes=64 * 2**20, basis="[engine] lock_bytes")
    assert len(subject.ledger(replace(PLAN, lock_bytes=-1), MEMORY).anonymous) == 3


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, ""),
        ({"lock_bytes": 2**20}, ""),
        ({"repack": True}, "repack = true copies"),
        ({"mmap": False}, "mmap = false reads"),
        ({"lock_bytes": -1}, 'lock = "weights" keeps'),
    ],
)
def test_the_wish_by_which_weights_are_held_is_named(subject, changes, told):
    """Whatever keeps them out of the page cache needs memory for all of them."""
    assert subject.ledger(replace(PLAN, **changes), MEMORY).held.startswith(told)
    assert bool(subject.ledger(replace(PLAN, **changes), MEMORY).held) is bool(told)


def test_a_control_group_that_leaves_less_is_named(subject):
    """The limit of a container counts, not the machine's memory."""
    found = subject.ledger(PLAN, replace(MEMORY, groups=(GROUP,)))
    assert (found.available_bytes, found.available_basis) == (6 * 2**30, "control group /engine.slice")


def test_unknown_memory_is_an_error(subject):
    """Without MemAvailable nothing is compared."""
    with pytest.raises(ProbeError, match="available memory"):
        subject.ledger(PLAN, replace(MEMORY, available_bytes=None))


def test_logits_decide_the_buffers_of_a_small_model(subject):
    """Micro-batches scale the estimate; a vocabulary is what is large in it."""
    small, large = (
        estimate_compute_bytes(
            subject.metadata, replace(subject.sizes, vocabulary_tokens=words), subject.kv(PLAN), PLAN
        )
        for words in (100_000, 200_000)
    )
    assert large - small == pytest.approx(512 * 100_000 * 4 * 1.15 + 100_000 * 4, abs=2)


def test_what_is_available_says_where_it_is_from(subject):
    """The kernel's estimate, ZFS's cache beside it, or the nodes that this process may use."""
    held = HeldMemory(
        programs_bytes=None,
        huge_pages_bytes=None,
        shared_bytes=None,
        balloon_bytes=None,
        zfs_cache_bytes=5 * 2**30,
        zfs_cache_least_bytes=2**30,
    )
    nodes = BoundMemory(
        nodes=(0,), machine_nodes_count=2, by_policy=False, total_bytes=16 * 2**30, available_bytes=12 * 2**30
    )
    cases = {
        MEMORY: (24, "MemAvailable"),
        replace(MEMORY, held=held): (28, "MemAvailable and what ZFS's cache gives back"),
        replace(MEMORY, held=held, bound=nodes): (12, "memory nodes 0"),
    }
    for memory, (gib, basis) in cases.items():
        found = subject.ledger(PLAN, memory)
        assert (found.available_bytes, found.available_basis) == (gib * 2**30, basis)
