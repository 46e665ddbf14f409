"""The bandwidths that ``streamworthy inspect`` puts into its ceilings: given, a tier's, or measured here and now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import streamworthy
from streamworthy.errors import ProbeError, UsageError
from streamworthy.facts.inspection import Bandwidths
from streamworthy.units import BYTES_PER_SECOND

if TYPE_CHECKING:
    import argparse

    from streamworthy.bench.bench import Bench
    from streamworthy.gguf.subject import Subject
    from streamworthy.probes.machine import Machine

_TIERS = Path(streamworthy.__file__).parents[1] / "thresholds"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where bandwidths come from."""
    parser.add_argument("--disk", metavar="RATE", help='read bandwidth of the disk, such as "3 GB/s"')
    parser.add_argument("--memory", metavar="RATE", help='read bandwidth of the memory, such as "40 GB/s"')
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--tier", metavar="NAME|FILE", help="bandwidths of the machine that just meets this tier")
    source.add_argument("--measure", action="store_true", help="bandwidths of this machine: takes some 20 seconds")
    parser.add_argument("--disturb", action="store_true", help="with --measure: also beside others who use the disk")
    parser.add_argument(
        "--scratch", type=Path, metavar="DIR", help="with --measure: where a scratch file may be written"
    )


def find_bandwidths(arguments: argparse.Namespace, subject: Subject, machine: Machine) -> Bandwidths:
    """Give both bandwidths; what is given by hand counts first. ProbeError when one cannot be measured."""
    disk, memory = _rate("--disk", arguments.disk), _rate("--memory", arguments.memory)
    if arguments.tier is not None:
        found = _of_tier(arguments.tier)
    elif arguments.measure:
        found = _measured(arguments, subject, machine)
    else:
        given = disk is not None and memory is not None
        rounded = "" if given else "for round bandwidths (give --measure, --tier NAME, or --disk and --memory)"
        return Bandwidths(disk_bytes_per_second=disk, memory_bytes_per_second=memory, basis=rounded)
    return Bandwidths(
        disk_bytes_per_second=disk or found.disk_bytes_per_second,
        memory_bytes_per_second=memory or found.memory_bytes_per_second,
        basis=found.basis,
    )


def _of_tier(name: str) -> Bandwidths:
    from streamworthy.thresholds import load_tier

    tier = load_tier(name, _TIERS)
    roofs = tier.reference.roofs
    return Bandwidths(
        disk_bytes_per_second=roofs.disk_bytes_per_second,
        memory_bytes_per_second=roofs.memory_bytes_per_second,
        basis=f"of the machine that just meets tier {tier.name}",
    )


def _measured(arguments: argparse.Namespace, subject: Subject, machine: Machine) -> Bandwidths:
    bench = _bench(arguments, subject, machine)
    try:
        disk = _disk(bench)
        memory = max(bench.bandwidth.at_knee.rates_bytes_per_second)
    finally:
        bench.disk.close()
    return Bandwidths(
        disk_bytes_per_second=disk, memory_bytes_per_second=memory, basis="of this machine, the best that was measured"
    )


def _bench(arguments: argparse.Namespace, subject: Subject, machine: Machine) -> Bench:
    from streamworthy.bench.bench import Bench
    from streamworthy.bench.disk import BUDGETS, Disk
    from streamworthy.preparation import make_scratch

    threads, available = machine.cpu.usable_cores_count, machine.memory.working_available_bytes
    if threads is None or available is None:
        raise ProbeError("--measure: this machine tells neither its cores nor its memory", fix="--disk and --memory")
    disk = Disk(
        machine,
        subject,
        threads=threads,
        budget=BUDGETS["quick"],
        disturb=arguments.disturb,
        scratch=lambda: make_scratch(arguments.scratch),
    )
    return Bench(machine, subject, disk, threads=threads, depth="quick", available_bytes=available)


def _disk(bench: Bench) -> float:
    """Give the best round: of the model's slabs, of a model without experts in order."""
    slabs = bench.disk.slabs
    paths = [rate for size in slabs.sizes for rate in (size.one, size.eight, size.mapped, size.populated)]
    paths += [bench.disk.sequential.eight, bench.disk.sequential.one] if slabs.dense else []
    rates = [rate for path in paths if path is not None for rate in path.rates_bytes_per_second]
    reason = slabs.state.refused or "; ".join(slabs.state.doubts)
    if reason or not rates:
        raise ProbeError(
            f"--measure: the disk's rate is not known: {reason or 'nothing was read'}",
            fix='add --disturb to measure beside others, or give --disk "3 GB/s"',
        )
    return max(rates)


def _rate(option: str, text: str | None) -> float | None:
    if text is None:
        return None
    try:
        rate = float(BYTES_PER_SECOND.parse(text))  # type: ignore[arg-type] # a number, by its kind
    except ValueError as error:
        raise UsageError(
            f"{option}: found '{text}', expected a number with one of {error}", fix=f'{option} "3 GB/s"'
        ) from error
    if rate == 0:
        raise UsageError(f"{option}: found '{text}', expected more than nothing", fix=f'{option} "3 GB/s"')
    return rate
