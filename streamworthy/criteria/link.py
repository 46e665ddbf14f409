"""Whether a drive's PCIe link is what drive and slot can do. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.criteria.finding import Finding
from streamworthy.units import format_rate
from streamworthy.verdict import Word

if TYPE_CHECKING:
    from streamworthy.facts.drives import DriveLink, PcieLink


def judge_link(link: DriveLink) -> Finding:
    """Judge one link: against both its ends when it was read under load, else only where it is at its best."""
    reach = link.reach
    if link.current is None or link.drive is None or reach is None:
        cause = f"{link.name}: the system does not tell the PCIe link of {link.function}"
        return Finding(word=Word.ERROR, measured=f"{link.name} unknown", cause=cause, fix=(_lspci(link.function),))
    measured = f"{link.name} at {describe_link(link.current)}"
    if link.current.below(reach):
        return _low(link, link.current, reach, measured)
    if link.current.below(link.drive):
        cause = f"{link.name} could do {describe_link(link.drive)}, its slot carries {describe_link(link.current)}"
        fix = (_lspci(link.function), "# move the drive to a slot of its own generation and width, if there is one")
        return Finding(
            word=Word.ADVICE, measured=measured, cause=f"{cause}: {_lost(link.current, link.drive)}", fix=fix
        )
    return Finding(word=Word.PASS, measured=measured, cause="", fix=())


def _low(link: DriveLink, current: PcieLink, reach: PcieLink, measured: str) -> Finding:
    could = f"{link.name} runs at {describe_link(current)} and could at {describe_link(reach)}"
    if not link.loaded:
        return Finding(
            word=Word.ERROR,
            measured=measured,
            cause=f"{could}, but it was idle, and idle links may be slowed down",
            fix=(f"{_lspci(link.function)}  # again, while the drive is read",),
        )
    lost = _lost(current, reach)
    if link.slot is None:
        cause = f"{could}, as far as the drive goes: the slot, a riser or a failed training, {lost}"
        return Finding(word=Word.ADVICE, measured=measured, cause=cause, fix=_retraining(link, current, reach))
    cause = f"{could}, also while it is read: a bad contact, a riser or shared lanes, {lost}"
    return Finding(word=Word.FAIL, measured=measured, cause=cause, fix=_retraining(link, current, reach))


def _retraining(link: DriveLink, current: PcieLink, reach: PcieLink) -> tuple[str, ...]:
    lanes = (
        "# firmware setup: give the slot all its lanes (bifurcation; lanes shared with another slot or SATA ports)",
    )
    speed = ("# firmware setup: set the slot's PCIe speed to Auto, not to an older generation",)
    return (
        _lspci(link.function),
        "# power off, take the drive out and seat it again; try another slot, and without a riser or an adapter",
        *(lanes if current.lanes_count < reach.lanes_count else ()),
        *(speed if current.gigatransfers < reach.gigatransfers else ()),
    )


def _lost(current: PcieLink, reach: PcieLink) -> str:
    return f"{format_rate(reach.bytes_per_second - current.bytes_per_second)} are lost"


def _lspci(function: str) -> str:
    return f"sudo lspci -vv -s {function} | grep -E 'LnkCap:|LnkSta:'"


def describe_link(link: PcieLink) -> str:
    """Write a link as people read it: ``16 GT/s x4 (7.9 GB/s)``."""
    return f"{link.gigatransfers:g} GT/s x{link.lanes_count} ({format_rate(link.bytes_per_second)})"
