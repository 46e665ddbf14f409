"""Questions about the processor."""

from __future__ import annotations

from streamworthy.criteria import cpu


def test_architecture(require, machine, limit):
    """The tier's limits were set for these architectures, and only a 64-bit program can map hundreds of gigabytes."""
    require(cpu.architecture(machine.cpu, limit))


def test_physical_cores(require, machine, plan, limit):
    """Prompt processing is arithmetic: time to first token grows as the cores that can run at once get fewer."""
    require(cpu.physical_cores(machine.cpu, plan, limit))


def test_instruction_set(require, machine, limit):
    """Without these vector instructions the engine multiplies quantised weights many times slower, or dies at once."""
    require(cpu.instruction_set(machine.cpu, limit))


def test_governor(require, machine, limit):
    """Threads that wait for the disk look idle: a governor that saves power clocks them down between two experts."""
    require(cpu.governor(machine.governor, limit))
