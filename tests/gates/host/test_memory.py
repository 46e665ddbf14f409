"""Questions about memory."""

from __future__ import annotations

from streamworthy.criteria import memory


def test_total(require, machine, limit):
    """Memory that the resident part of the model leaves free is the cache for experts: each miss is a disk read."""
    require(memory.total(machine.memory, limit))


def test_available(require, machine, limit):
    """What other programs hold now cannot keep experts: the tier's speed is reached only with this much to spare."""
    require(memory.available(machine.memory, limit))


def test_limit(require, machine, limit):
    """A control group's limit counts page cache too, so it caps the cache for experts however much memory is free."""
    require(memory.limit(machine.memory, limit))


def test_memlock(require, machine, lock_proof, limit):
    """Where locking is refused the engine only warns and runs on, and its weights can be evicted under load."""
    require(memory.memlock(machine.memlock, lock_proof(), limit))


def test_address_space(require, machine, limit):
    """The engine maps every shard whole: under a lower limit it ends with 'mmap failed: Cannot allocate memory'."""
    require(memory.address_space(machine.address_space, limit))


def test_swap_location(require, machine, limit):
    """Pages swapped to a spinning disk come back in milliseconds each; on the model's disk they compete with it."""
    require(memory.swap_location(machine.swap, limit))


def test_swap_size(require, machine, limit):
    """Some swap is a cushion against the OOM killer; too much hides that the engine does not fit into memory."""
    require(memory.swap_size(machine.swap, limit))


def test_swap_in_use(require, machine, limit):
    """Weights in swap are read back through the slowest path of all, so a token takes minutes."""
    require(memory.swap_in_use(machine.swap, limit))


def test_swappiness(require, machine, limit):
    """Streaming fills the page cache all the time; a high value lets that push the engine's own memory to swap."""
    require(memory.swappiness(machine.swap, limit))
