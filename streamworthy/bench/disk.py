"""The disks below the model, measured on its own shards, read only: each number when a gate first asks, and once.

Direct reads evict nothing. The mapped paths begin cold: the shards are dropped from the page cache and looked at. With
another process on the shards or on their devices nothing is read or dropped, unless that was allowed.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING

from streamworthy.bench.direct_reads import DirectRefusedError, open_direct, read_pieces
from streamworthy.bench.disk_files import Files
from streamworthy.bench.disturbers import find_disturbers
from streamworthy.bench.doubts import (
    buffered_doubt,
    cached_share,
    link_doubt,
    rate_doubts,
    reread_doubt,
    scratch_doubts,
    storage_doubts,
)
from streamworthy.bench.metering import Meter
from streamworthy.bench.places import SEQUENTIAL_BYTES, stretches
from streamworthy.bench.random_child import measure_many, random_pieces
from streamworthy.bench.slabs import SlabTask, measure_slabs
from streamworthy.facts.disk import DiskState, LatencyReads, SequentialReads, SlabReads, SustainedReads
from streamworthy.probes.link import probe_link
from streamworthy.probes.temperature import disks_celsius

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from streamworthy.bench.direct_reads import Done, Piece
    from streamworthy.facts.disk import ReadRate
    from streamworthy.facts.episode import Disturbers
    from streamworthy.gguf.subject import Subject
    from streamworthy.probes.machine import Machine

DIRECT = "O_DIRECT"
DEPTH = 8
_FASTEST_BYTES_PER_SECOND = 16e9  # PCIe 5.0 x4: more is never read in the time given
_MOST_RANDOM_READS = 20_000
_SUSTAINED_SECONDS = 60
# Of a depth's seconds. The rest goes into eviction, settling and starting processes.
_SHARES = {"one": 0.08, "eight": 0.12, "again": 0.12, "latency": 0.14, "many": 0.08, "slabs": 0.46}


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskBudget:
    """How long the disks are read: in all, in how many rounds, and whether a minute of full load is added."""

    seconds: float
    rounds_count: int
    sustained: bool


BUDGETS = {
    "quick": DiskBudget(seconds=6.0, rounds_count=3, sustained=False),
    "standard": DiskBudget(seconds=60.0, rounds_count=7, sustained=False),
    "full": DiskBudget(seconds=60.0, rounds_count=7, sustained=True),
}


class Disk:
    """What the disks deliver; each property raises ProbeError when it cannot be learned.

    ``threads`` is how many of the engine's fault at once; ``disturb`` allows measuring beside other readers.
    ``scratch`` gives the folder for a file to read where there are no shards yet; ``close`` lets go of it.
    """

    def __init__(  # noqa: PLR0913 - what is measured, and within which bounds
        self,
        machine: Machine,
        subject: Subject,
        *,
        threads: int,
        budget: DiskBudget,
        disturb: bool,
        scratch: Callable[[], Path],
    ) -> None:
        """Take what is asked about; nothing is read yet."""
        self._machine = machine
        self._threads = threads
        self._budget = budget
        self._disturb = disturb
        self._files = Files(subject, scratch)
        self._chooser = random.Random()  # noqa: S311 - places, not secrets; unseeded: no second run meets a host's cache

    @cached_property
    def sequential(self) -> SequentialReads:
        """1 MiB reads in order, one and eight at a time; part of it twice, to see whether the disk answers."""
        state = self._state
        if state.refused:
            return SequentialReads(one=None, eight=None, state=state)
        try:
            with open_direct(self._files.paths) as opened:
                return self._sequential(opened, state)
        except DirectRefusedError as error:
            return SequentialReads(one=None, eight=None, state=_without_direct(state, error))

    def _sequential(self, opened: Mapping[Path, int], state: DiskState) -> SequentialReads:
        rounds = self._budget.rounds_count
        one_seconds, eight_seconds = (self._seconds(name) / rounds for name in ("one", "eight"))
        parts = stretches(self._files.paths, 2 * rounds, int(eight_seconds * _FASTEST_BYTES_PER_SECOND), self._chooser)
        cached = cached_share(parts[-1])
        one = self._direct(opened, parts[:rounds], 1, one_seconds)
        ratios, rates = [], []
        for part in parts[rounds:]:
            rates.append(self._direct(opened, [part], DEPTH, eight_seconds))
            again = part[: rates[-1].useful_bytes // SEQUENTIAL_BYTES]
            second = read_pieces(opened, again, depth=DEPTH, budget_seconds=10 * eight_seconds)
            ratios.append(second.rate_bytes_per_second / rates[-1].rate_bytes_per_second)
        eight, ratio = _join(rates), median(ratios)
        doubts = (
            *buffered_doubt(cached, cached_share(parts[-1])),
            *rate_doubts([one, eight], state.link_bytes_per_second),
            *reread_doubt(ratio),
        )
        found = replace(state, doubts=(*state.doubts, *doubts), reread_ratio=ratio)
        return SequentialReads(one=one, eight=eight, state=found)

    @cached_property
    def latency(self) -> LatencyReads:
        """4 KiB reads at random: each one's time one at a time, and how many a second at 32 in flight."""
        state = self._known
        if state.refused or state.method != DIRECT:
            return LatencyReads(
                latencies_seconds=(), median_seconds=0.0, p99_seconds=0.0, iops_one=0.0, iops_many=None,
                own_bytes=None, device_bytes=None, state=state,
            )  # fmt: skip
        pieces = random_pieces(self._files.paths, _MOST_RANDOM_READS, self._chooser)
        with open_direct(self._files.paths) as opened:
            done, device, own = self._meter.counted(
                lambda: read_pieces(opened, pieces, depth=1, budget_seconds=self._seconds("latency"), timed=True)
            )
        ordered = sorted(done.latencies_seconds)
        return LatencyReads(
            latencies_seconds=done.latencies_seconds,
            median_seconds=median(ordered),
            p99_seconds=ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))],
            iops_one=done.pieces_count / done.seconds,
            iops_many=measure_many(self._files.paths, self._seconds("many")),
            own_bytes=own,
            device_bytes=device,
            state=state,
        )

    @cached_property
    def slabs(self) -> SlabReads:
        """Random experts, the smallest and the largest that the model has, through each path."""
        state, places = self._known, self._files.places
        dense = "" if places else "the model has no experts: no slabs are read, and disk.sequential_read is its rate"
        if state.refused or dense:
            return SlabReads(slab_sizes_bytes=tuple(sorted(places)), sizes=(), dense=dense, warm="", state=state)
        task = SlabTask(
            paths=self._files.paths,
            meter=self._meter,
            threads=self._threads,
            depth=DEPTH,
            rounds_count=self._budget.rounds_count,
            seconds=self._seconds("slabs"),
            direct=state.method == DIRECT,
            chooser=self._chooser,
        )
        chosen = {size: places[size] for size in {min(places), max(places)}}
        sizes, warm = measure_slabs(task, chosen)
        direct = [rate for size in sizes for rate in (size.one, size.eight) if rate is not None]
        doubts = (*state.doubts, *rate_doubts(direct, state.link_bytes_per_second))
        return SlabReads(
            slab_sizes_bytes=tuple(sorted(places)),
            sizes=sizes,
            dense="",
            warm=warm,
            state=replace(state, doubts=tuple(dict.fromkeys(doubts))),
        )

    @cached_property
    def sustained(self) -> SustainedReads:
        """A minute of random slabs, eight at a time, second by second."""
        state = self._known
        skipped = "" if self._budget.sustained else "a minute of full load is read at --depth full only"
        if skipped or state.refused or state.method != DIRECT:
            return SustainedReads(
                skipped=skipped, rates_bytes_per_second=(), celsius_before=None, celsius_after=None, wrapped=False,
                own_bytes=None, device_bytes=None, state=state,
            )  # fmt: skip
        pieces, before = self._load_pieces(), self._temperature
        done, device, own = self._meter.counted(lambda: self._read_a_minute(pieces))
        rates = tuple(each.rate_bytes_per_second for each in done)
        doubts = link_doubt(median(rates), state.link_bytes_per_second)
        return SustainedReads(
            skipped="",
            rates_bytes_per_second=rates,
            celsius_before=before,
            celsius_after=self._temperature,
            wrapped=sum(each.pieces_count for each in done) > len(pieces),
            own_bytes=own,
            device_bytes=device,
            state=replace(state, doubts=tuple(dict.fromkeys((*state.doubts, *doubts)))),
        )

    def _read_a_minute(self, pieces: Sequence[Piece]) -> list[Done]:
        wanted, endless = int(_FASTEST_BYTES_PER_SECOND / pieces[0].size_bytes) + DEPTH, itertools.cycle(pieces)
        with open_direct(self._files.paths) as opened:
            return [
                read_pieces(opened, list(itertools.islice(endless, wanted)), depth=DEPTH, budget_seconds=1.0)
                for _ in range(_SUSTAINED_SECONDS)
            ]

    def _load_pieces(self) -> list[Piece]:
        places = self._files.places
        pieces = places[max(places)] if places else stretches(self._files.paths, 1, 2**50, self._chooser)[0]
        return self._chooser.sample(pieces, len(pieces))

    def _direct(self, opened: Mapping[Path, int], parts: list[list[Piece]], depth: int, seconds: float) -> ReadRate:
        runs = [lambda part=part: read_pieces(opened, part, depth=depth, budget_seconds=seconds) for part in parts]
        return self._meter.rounds(runs, path=DIRECT, block_bytes=SEQUENTIAL_BYTES, lanes=depth)

    def _seconds(self, name: str) -> float:
        return self._budget.seconds * _SHARES[name]

    def close(self) -> None:
        """Let go of the scratch file, if there is one."""
        self._files.close()

    @cached_property
    def _meter(self) -> Meter:
        leaves = [leaf.name for volume in self._machine.volumes.volumes for leaf in volume.leaves]
        return Meter(root=self._machine.root, devices=tuple(dict.fromkeys(leaves)))

    @cached_property
    def _others(self) -> Disturbers:
        return find_disturbers(self._machine.root, self._files.paths, devices=self._meter.devices, own=())

    @property
    def _temperature(self) -> float | None:
        return disks_celsius(self._machine.root, self._meter.devices)

    @cached_property
    def _state(self) -> DiskState:
        volumes, others = self._machine.volumes, self._others
        refused = bool(others.names) and not self._disturb
        leaves = {leaf.name: leaf for volume in volumes.volumes for leaf in volume.leaves}
        names = ", ".join(others.names)
        return DiskState(
            refused=f"{names} uses the shards or their device: nothing was read or evicted" if refused else "",
            refused_fix=("end that process and run again", "or add --disturb, to measure beside it") if refused else (),
            doubts=scratch_doubts(volumes) if self._files.told else storage_doubts(volumes),
            devices=self._meter.devices,
            scratch=self._files.told,
            method=DIRECT,
            reread_ratio=None,
            link_bytes_per_second=probe_link(self._machine.root, tuple(leaves.values())),
            temperature_celsius=self._temperature,
            disturbers=others.names,
            hidden=others.hidden,
        )

    @property
    def _known(self) -> DiskState:
        """The state with what the sequential reads told of whoever answers."""
        return self.sequential.state


def _without_direct(state: DiskState, error: DirectRefusedError) -> DiskState:
    return replace(state, method=error.message, doubts=(*state.doubts, error.message))


def _join(rates: list[ReadRate]) -> ReadRate:
    """Join rounds that were measured one by one."""
    owns = [rate.own_bytes for rate in rates if rate.own_bytes is not None]
    devices = [rate.device_bytes for rate in rates if rate.device_bytes is not None]
    return replace(
        rates[0],
        rates_bytes_per_second=tuple(rate.rates_bytes_per_second[0] for rate in rates),
        seconds=sum(rate.seconds for rate in rates),
        useful_bytes=sum(rate.useful_bytes for rate in rates),
        own_bytes=sum(owns) if len(owns) == len(rates) else None,
        device_bytes=sum(devices) if len(devices) == len(rates) else None,
    )
