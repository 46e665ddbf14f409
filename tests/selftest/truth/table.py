"""What was done to each machine, what the suite said, and whether it was right. Not a test."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING

from tests.selftest.truth.suite import RATE, Said

if TYPE_CHECKING:
    from tests.selftest.truth.machines import Machine

show = print  # what this program is for
_COLUMNS = "{:31} {:13} {:>7} {:>9}  {:32} {:21} {}"
_SHARES = ("io_some_share", "io_full_share", "memory_full_share", "device_busy_share")
_PLAIN = ("device_queue_depth", "engine_cores", "kswapd_cores", "clock_share")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One machine, and what the suite said of it."""

    machine: Machine
    size_bytes: int
    seed: int
    said: Said
    confirm: bool = False  # a change has to bear the cause out

    @property
    def read_per_token_bytes(self):
        """What the engine had the device read for a token; None where nothing was measured."""
        return _median(phase["device_bytes"] / phase["tokens"] for phase in self.said.decodes)

    @property
    def problem(self):
        """Say what is wrong with what the suite said; "" where it is right."""
        gate = self.machine.gate
        word = self.said.word(gate)
        if word not in self.machine.words:
            return f"{gate} is {word}, expected {' or '.join(self.machine.words)}: {self.said.bottleneck(gate)[2]}"
        if self.machine.reads and not self.read_per_token_bytes:
            return "nothing was read from the device: the machine is not what it seems"
        named, sure, why = self.said.bottleneck(gate)
        if self.machine.cause and named != self.machine.cause:
            return f"the cause is {self.machine.cause}, told: {named}: {why}"
        return f"not confirmed: {why}" if self.confirm and sure != "confirmed" else ""

    @property
    def record(self):
        """Everything that is known of it, for choosing the bounds of the rules."""
        machine = {"name": self.machine.name, "cause": self.machine.cause, "gate": self.machine.gate}
        return {
            **machine,
            "size_bytes": self.size_bytes,
            "seed": self.seed,
            "problem": self.problem,
            "word": self.said.word(self.machine.gate),
            "bottleneck": self.said.bottleneck(self.machine.gate),
            **asdict(self.said),
        }


def _median(values):
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _counted(phases):
    """Give what the rules about causes look at: medians of the timed runs, those that are known."""

    def told(value, write):
        found = _median(value(phase) for phase in phases)
        return "-" if found is None else write(found)

    def counter(name):
        return lambda phase: phase["counters"][name]

    def per_second(name):
        return lambda phase: _ratio(phase["counters"][name], phase["counters"]["seconds"])

    def per_token(name):
        return lambda phase: _ratio(phase["counters"][name], phase["tokens"])

    def of_cpu(name):
        return lambda phase: (phase["counters"]["cpu"] or {}).get(name)

    yield from ((name.removesuffix("_share"), told(counter(name), "{:.2f}".format)) for name in _SHARES)
    yield from ((name, told(counter(name), "{:.2f}".format)) for name in _PLAIN)
    yield "device MB/s", told(per_second("device_bytes"), _megabytes)
    yield "own MB/s", told(per_second("engine_bytes"), _megabytes)
    yield "refaulted MB/token", told(per_token("refaulted_bytes"), _megabytes)
    yield "KB/major fault", told(lambda phase: _ratio(phase["device_bytes"], phase["major_faults"]), _kilobytes)
    yield "anonymous MB", told(counter("anonymous_bytes"), _megabytes)
    yield "swapped in MB", told(counter("swapped_in_bytes"), _megabytes)
    yield "others' cores", told(of_cpu("others_cores"), "{:.2f}".format)
    yield "run-queue wait", told(of_cpu("wait_share"), "{:.2f}".format)


def _ratio(value, by):
    return value / by if value is not None and by else None


def _megabytes(value):
    return f"{value / 1e6:.1f}"


def _kilobytes(value):
    return f"{value / 1e3:.0f}"


def print_head():
    """Print the columns' names."""
    show(_COLUMNS.format("done to the machine", "said", "tok/s", "MB/token", "cause named", "true cause", ""))


def print_row(row):
    """Print a machine's line, the counters that were seen, and what is wrong."""
    machine, said, read = row.machine, row.said, row.read_per_token_bytes
    rate, (named, sure, _) = said.value(RATE), said.bottleneck(machine.gate)
    show(
        _COLUMNS.format(
            machine.name,
            said.word(machine.gate),
            "-" if rate is None else f"{rate:.1f}",
            "-" if read is None else _megabytes(read),
            "-" if named == "-" else f"{named} ({sure})",
            machine.cause or "-",
            f"{'WRONG' if row.problem else 'right'}, {said.seconds:.0f} s",
        )
    )
    show("    " + ", ".join(f"{name} {text}" for name, text in _counted(said.decodes) if text != "-"), flush=True)
    if row.problem:
        show(f"    {row.problem}", flush=True)
    if not said.facts:
        show(said.output[-2000:], flush=True)


def print_end(rows):
    """Print the counts; gives how many are wrong."""
    wrong = sum(bool(row.problem) for row in rows)
    show(f"{len(rows)} machines, {wrong} wrong", flush=True)
    return wrong
