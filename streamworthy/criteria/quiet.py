"""Whether a machine is quiet and cool enough to be measured: what is not so leaves numbers open. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.criteria.finding import Finding
from streamworthy.units import SHARE, format_rate, format_share
from streamworthy.verdict import Verdict, Word, not_applicable, unknown, verdict

if TYPE_CHECKING:
    from streamworthy.criteria.spec import Limit
    from streamworthy.facts.conditions import ActivityFacts, DriveTemperature, PressureFacts

_NEEDS = {"cpu": "ps aux --sort=-%cpu | head", "memory": "ps aux --sort=-rss | head", "io": "sudo iotop -boqn 1"}


def open_word(limit: Limit) -> Word:
    """Give the word of a disturbed machine: numbers taken on it are open, where they are more than advice."""
    return Word.ADVICE if limit.level == "advise" else Word.INCONCLUSIVE


def judge_pressure(facts: PressureFacts, limit: Limit) -> Verdict:
    """Judge each resource against its own limit."""
    shares = {"cpu": facts.cpu_share, "memory": facts.memory_share, "io": facts.io_share}
    known = {name: share for name, share in shares.items() if share is not None}
    if len(known) < len(shares):
        load = "not told" if facts.load_average is None else f"{facts.load_average:.2f}"
        missing = ", ".join(name for name in shares if name not in known)
        return unknown(
            f"this kernel tells no pressure of {missing} (PSI); its load average is {load}",
            "start the kernel with psi=1, or one with CONFIG_PSI",
        )
    limits = {name: limit.values[f"{name}_at_most"] for name in shares}
    over = [name for name, share in known.items() if share > limits[name]]
    who = f": {'; '.join(facts.busiest)}" if facts.busiest and "cpu" in over else ""
    return verdict(
        open_word(limit) if over else Word.PASS,
        measured=_list(known),
        required=f"at most {_list(limits)}",
        value=max(known.values()),
        unit=SHARE.unit,
        cause=f"others use this machine: something waits for {' and '.join(over)}{who}" if over else "",
        fix=tuple(_NEEDS[name] for name in over),
        evidence=() if facts.load_average is None else (f"load_average={facts.load_average:.2f}",),
    )


def _list(shares: dict[str, float]) -> str:
    return ", ".join(f"{name} {format_share(share)}" for name, share in shares.items())


def judge_activity(facts: ActivityFacts, limit: Limit) -> Verdict:
    """Judge the busiest disk; who was seen to read or write is named."""
    if facts.unseen:
        return not_applicable(facts.unseen)
    at_most = limit.values["at_most"]
    worst = max(facts.disks, key=lambda disk: disk.busy_share)
    busy = worst.busy_share > at_most
    who = "; ".join(facts.users) or "a process that cannot be looked into, or the kernel writing back"
    return verdict(
        open_word(limit) if busy else Word.PASS,
        measured=f"{worst.name} {format_share(worst.busy_share)} busy",
        required=f"at most {format_share(at_most)} busy",
        value=worst.busy_share,
        unit=SHARE.unit,
        samples=tuple(disk.busy_share for disk in facts.disks),
        cause=f"others use {worst.name}: {who}" if busy else "",
        fix=("end that process, or wait for it, and run again", "sudo iotop -boqn 1") if busy else (),
        evidence=tuple(
            f"{disk.name}=reads {format_rate(disk.read_bytes_per_second)}, "
            f"writes {format_rate(disk.written_bytes_per_second)}"
            for disk in facts.disks
        ),
    )


def judge_temperature(drive: DriveTemperature, limit: Limit) -> Finding:
    """Judge one drive against its own limits, with the room that it heats up by while it is read."""
    if drive.celsius is None:
        if drive.virtual:
            return _found(Word.NOT_APPLICABLE, f"{drive.name}: no drive here", _NOT_HERE)
        told = f"{drive.name}: no sensor"
        return _found(Word.ERROR, told, f"the kernel reads no temperature of {drive.name}", _sensor_fix(drive))
    said = f"{drive.name} {drive.celsius:.0f} C"
    if drive.critical_celsius is not None and drive.celsius >= drive.critical_celsius:
        cause = f"{drive.name} is at its critical temperature of {drive.critical_celsius:.0f} C"
        return _found(Word.FAIL, said, cause, _COOL_FIX)
    slow = drive.warning_celsius if drive.warning_celsius is not None else drive.critical_celsius
    if slow is None:
        return _found(
            Word.ERROR, said, f"{drive.name} does not tell at which temperature it slows down", _sensor_fix(drive)
        )
    if drive.celsius > slow - limit.values["below_warning_at_least"]:
        cause = f"{drive.name} is at {drive.celsius:.0f} C before it is read, and slows down at {slow:.0f} C"
        return _found(open_word(limit), f"{said} of {slow:.0f} C", cause, _COOL_FIX)
    return _found(Word.PASS, f"{said} of {slow:.0f} C", "")


_NOT_HERE = "a virtual disk, or one of another machine, has no sensor here"


def _sensor_fix(drive: DriveTemperature) -> tuple[str, ...]:
    if drive.name.startswith("nvme"):
        return (f"sudo nvme smart-log /dev/{drive.name}",)
    return (f"sudo modprobe drivetemp  # for SATA; else: sudo smartctl --all /dev/{drive.name}",)


_COOL_FIX = ("let it cool down and run again; give the drive a heat sink or air",)


def _found(word: Word, measured: str, cause: str, fix: tuple[str, ...] = ()) -> Finding:
    return Finding(word=word, measured=measured, cause=cause, fix=fix)
