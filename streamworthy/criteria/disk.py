"""Do the disks below the model deliver what streaming takes from them? Pure.

A number that something else than the disk may have made better decides nothing; one that misses all the same fails.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

from streamworthy.criteria.read_ahead import advised_fix, describe_read_ahead
from streamworthy.criteria.spec import bounds, doubtful, required, within
from streamworthy.facts.disk import others_read
from streamworthy.units import BYTES_PER_SECOND, RATIO, SECONDS, SHARE, format_bytes, format_rate, format_seconds
from streamworthy.verdict import Verdict, Word, not_applicable, unknown, verdict

if TYPE_CHECKING:
    from streamworthy.criteria.spec import Limit
    from streamworthy.facts.disk import (
        DiskState,
        LatencyReads,
        ReadAheadFacts,
        ReadRate,
        SequentialReads,
        SlabReads,
        SlabSize,
        SustainedReads,
    )

_ANSWERED_RATIO = 0.9  # of the bytes asked for; below it a part never came from a device
_MOST_SAMPLES = 500
_NVME_FIX = (
    "sudo nvme list -v; sudo lspci -vv | grep -E 'Non-Volatile|LnkSta'  # the link's speed and width",
    "sudo smartctl -a /dev/{device} | grep -iE 'temperature|wear|spare|error'",
)
_ALONE_FIX = ("sudo iotop -o -b -n 3  # who reads", "end what reads this disk, and run again")
_VIRTUAL = ("vd", "xvd")
_VIRTUAL_FIX = ("give this virtual machine a faster volume, or pass a local NVMe drive through to it",)


@bounds(at_least=required(BYTES_PER_SECOND))
def sequential_read(facts: SequentialReads, limit: Limit) -> Verdict:
    """Judge 1 MiB direct reads in order, eight in flight: the median round."""
    return _rate(facts.eight, facts.one, facts.state, limit, what="in order")


@bounds(at_most=required(SECONDS))
def random_read(facts: LatencyReads, limit: Limit) -> Verdict:
    """Judge the median time of a 4 KiB direct read at a random place, one in flight."""
    state = facts.state
    if not facts.latencies_seconds:
        return _unmeasured(state, limit)
    many = "not measured" if facts.iops_many is None else f"{facts.iops_many:.0f}"
    found = within(
        facts.median_seconds,
        limit,
        SECONDS,
        samples=facts.latencies_seconds[:_MOST_SAMPLES],
        cause=f"the disk answers a single 4 KiB read in {format_seconds(facts.median_seconds)}: slow flash, an "
        "enclosure, a network or a hypervisor lies between",
        fix=_fix(state),
        evidence=(
            f"p99={format_seconds(facts.p99_seconds)} of {len(facts.latencies_seconds)} reads",
            f"reads_a_second={facts.iops_one:.0f} at queue depth 1, {many} at 32",
            *_surroundings(state),
        ),
    )
    return _undisturbed(_doubted(found, state, limit), facts, state, limit)


@bounds(at_least=required(BYTES_PER_SECOND))
def slab_read(facts: SlabReads, limit: Limit) -> Verdict:
    """Judge direct reads of random experts, eight in flight; of several slab sizes the slowest decides."""
    if facts.dense:
        return not_applicable(facts.dense)
    measured = [size for size in facts.sizes if size.eight is not None]
    if not measured:
        return _unmeasured(facts.state, limit)
    slowest = min(measured, key=lambda size: size.eight.rate_bytes_per_second if size.eight else 0.0)
    found = _rate(slowest.eight, slowest.one, facts.state, limit, what=f"slabs of {format_bytes(slowest.slab_bytes)}")
    lines = tuple(line for size in facts.sizes for line in _paths_of(size))
    return replace(found, evidence=(*found.evidence, *lines))


@bounds(at_most=required(RATIO))
def read_amplification(facts: SlabReads, read_ahead: ReadAheadFacts, limit: Limit) -> Verdict:
    """Judge device bytes over bytes asked for when experts are read by page faults; the worst slab size decides."""
    if facts.dense:
        return not_applicable(facts.dense)
    if facts.state.refused:
        return _unmeasured(facts.state, limit)
    mapped = [size.mapped for size in facts.sizes if size.mapped is not None]
    ratios = {rate: rate.amplification_ratio for rate in mapped if rate.amplification_ratio is not None}
    if facts.warm or not ratios:
        return _open(limit, facts.warm or "the devices below the shards are not known, so their bytes are not counted")
    rate = max(ratios, key=lambda each: ratios[each] or 0.0)
    ratio = ratios[rate] or 0.0
    found = within(
        ratio,
        limit,
        RATIO,
        cause=f"{ratio:.1f} bytes are read for each byte of a slab of {format_bytes(rate.block_bytes)}: "
        f"{describe_read_ahead(read_ahead)}",
        fix=advised_fix(read_ahead, min(facts.slab_sizes_bytes)),
        evidence=(
            f"device_bytes={format_bytes(rate.device_bytes or 0)} for {format_bytes(rate.useful_bytes)}",
            f"resident_before={SHARE.format(rate.resident_share or 0.0)}",
            *(line for size in facts.sizes for line in _paths_of(size)),
            *_surroundings(facts.state),
        ),
    )
    foreign = _foreign(rate)
    if foreign:
        return _open(limit, foreign, measured="mixed with another reader's bytes")
    low = ratio < _ANSWERED_RATIO
    doubts = (f"only {ratio:.2f} bytes a byte reached the devices: memory answered the rest",) if low else ()
    return _doubted(found, facts.state, limit, doubts=(*_not_of_rate(facts.state), *doubts))


@bounds(at_least=required(SHARE))
def sustained(facts: SustainedReads, limit: Limit) -> Verdict:
    """Judge the last third of a minute at full depth against the first third."""
    if facts.skipped:
        return not_applicable(facts.skipped)
    rates = facts.rates_bytes_per_second
    if not rates:
        return _unmeasured(facts.state, limit)
    third = len(rates) // 3
    first, last = median(rates[:third]), median(rates[-third:])
    heat = _heat(facts)
    found = within(
        last / first,
        limit,
        SHARE,
        samples=rates,
        cause=f"the disk falls from {format_rate(first)} to {format_rate(last)} within a minute (temperature {heat})",
        fix=("give the drive a heat sink and air", *_fix(facts.state)),
        evidence=(
            f"first_third={format_rate(first)}",
            f"last_third={format_rate(last)}",
            f"heat={heat}",
            *(("places=read again: the shards are smaller than a minute of reads",) if facts.wrapped else ()),
            *_surroundings(facts.state),
        ),
    )
    return _undisturbed(_doubted(found, facts.state, limit), facts, facts.state, limit)


def _rate(rate: ReadRate | None, alone: ReadRate | None, state: DiskState, limit: Limit, *, what: str) -> Verdict:
    if rate is None:
        return _unmeasured(state, limit)
    value, where = rate.rate_bytes_per_second, what.partition(" of ")[0]
    found = within(
        value,
        limit,
        BYTES_PER_SECOND,
        samples=rate.rates_bytes_per_second,
        cause=f"the disk delivers {format_rate(value)} ({what}, {rate.lanes_count} reads in flight)",
        fix=_fix(state),
        evidence=(
            f"reads={format_bytes(rate.block_bytes)} {where}, {rate.lanes_count} in flight, {rate.path}",
            f"rounds={len(rate.rates_bytes_per_second)} in {format_seconds(rate.seconds)}",
            f"queue_depth_1={format_rate(alone.rate_bytes_per_second) if alone else 'not measured'}",
            f"bytes_asked={format_bytes(rate.useful_bytes)}",
            f"device_bytes={'unknown' if rate.device_bytes is None else format_bytes(rate.device_bytes)}",
            *_surroundings(state),
        ),
    )
    found = _doubted(found, state, limit)
    own = rate.own_bytes or rate.useful_bytes
    with_theirs = value * (rate.device_bytes or own) / own  # less than asked even so: the disk is too slow for both
    return found if with_theirs < limit.values["at_least"] else _undisturbed(found, rate, state, limit)


def _undisturbed(
    found: Verdict, read: ReadRate | LatencyReads | SustainedReads, state: DiskState, limit: Limit
) -> Verdict:
    """Take a miss back beside which somebody else read: it may be better than that, as a pass is at least."""
    foreign = _foreign(read)
    if found.word is not Word.FAIL or not foreign:
        return found
    word = Word.ADVICE if limit.level == "advise" else Word.INCONCLUSIVE
    names = f" ({', '.join(state.disturbers)})" if state.disturbers else ""
    return replace(found, word=word, cause=foreign + names, fix=_ALONE_FIX)


def _doubted(found: Verdict, state: DiskState, limit: Limit, *, doubts: tuple[str, ...] | None = None) -> Verdict:
    against = state.doubts if doubts is None else doubts
    return doubtful(found, limit, "; ".join(against), _doubt_fix()) if against else found


def _doubt_fix() -> tuple[str, ...]:
    return ("put the shards uncompressed on a disk of this machine, or measure on the machine that has the disk",)


def _not_of_rate(state: DiskState) -> tuple[str, ...]:
    """Leave out that a host's cache answers fast: it does not change how many bytes are asked of it."""
    return tuple(doubt for doubt in state.doubts if "a cache of the host" not in doubt)


def _unmeasured(state: DiskState, limit: Limit) -> Verdict:
    if state.refused:
        return _open(limit, state.refused, fix=state.refused_fix)
    if state.doubts:
        return _open(limit, "; ".join(state.doubts), fix=_doubt_fix())
    return unknown("the disk was not read")


def _open(limit: Limit, cause: str, *, measured: str = "nothing measured", fix: tuple[str, ...] = ()) -> Verdict:
    word = Word.ADVICE if limit.level == "advise" else Word.INCONCLUSIVE
    return verdict(word, measured=measured, cause=cause, fix=fix)


def _foreign(rate: ReadRate | LatencyReads | SustainedReads) -> str:
    device, own = rate.device_bytes, rate.own_bytes
    if device is None or own is None or not others_read(device, own):
        return ""
    return f"another reader came in: the devices read {format_bytes(device)}, this process {format_bytes(own)} of it"


def _fix(state: DiskState) -> tuple[str, ...]:
    device = state.devices[0] if state.devices else "nvme0n1"
    if device.startswith(_VIRTUAL):
        return _VIRTUAL_FIX
    lines = _NVME_FIX if device.startswith("nvme") else (*_NVME_FIX[1:], "keep the shards on an NVMe drive")
    return tuple(line.format(device=device) for line in lines)


def _paths_of(size: SlabSize) -> tuple[str, ...]:
    name = f"slab_{size.slab_bytes}"
    found = []
    for rate in (size.one, size.eight, size.mapped, size.populated):
        if rate is None:
            continue
        ratio = "" if rate.amplification_ratio is None else f", {rate.amplification_ratio:.2f}x read"
        found.append(f"{name}={format_rate(rate.rate_bytes_per_second)} by {rate.path} x{rate.lanes_count}{ratio}")
    return tuple(found)


def _surroundings(state: DiskState) -> tuple[str, ...]:
    celsius, again, link = state.temperature_celsius, state.reread_ratio, state.link_bytes_per_second
    told = {
        "devices": ", ".join(state.devices) or "unknown",
        "read": state.scratch,
        "reread": "not measured" if again is None else f"{again:.2f}x",
        "link": "unknown" if link is None else format_rate(link),
        "temperature": "unknown" if celsius is None else f"{celsius:.0f} C",
        "disturbed_by": ", ".join(state.disturbers),
        "not_seen": state.hidden,
    }
    return tuple(f"{name}={text}" for name, text in told.items() if text)


def _heat(facts: SustainedReads) -> str:
    before, after = facts.celsius_before, facts.celsius_after
    return "unknown" if before is None or after is None else f"{before:.0f} to {after:.0f} C"
