"""Is the model's storage fit for streaming? The worst volume decides, all are named. Pure."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from streamworthy.criteria.disks import judge_medium, judge_transport
from streamworthy.criteria.filesystems import judge_filesystem, network_findings
from streamworthy.criteria.finding import Finding, worst
from streamworthy.criteria.health import judge_array, judge_health
from streamworthy.criteria.link import judge_link
from streamworthy.criteria.mapping import judge_mapping, mapping_evidence
from streamworthy.criteria.quiet import judge_activity, judge_temperature
from streamworthy.criteria.read_ahead import LEAST_BYTES, advised_fix, describe_read_ahead
from streamworthy.criteria.read_limits import judge_read_limits
from streamworthy.criteria.room import is_sealed, judge_allocation, judge_room, judge_used, rooms_of, used_share_of
from streamworthy.criteria.spec import bounds, format_required, optional, required, within
from streamworthy.units import BYTES_PER_SECOND, KELVIN, RATIO, SECONDS, SHARE, WORDS, format_bytes, format_seconds
from streamworthy.verdict import Verdict, Word, not_applicable, unknown

if TYPE_CHECKING:
    from streamworthy.criteria.spec import Limit
    from streamworthy.facts.conditions import ActivityFacts, TemperatureFacts
    from streamworthy.facts.disk import ReadAheadFacts, SlabReads
    from streamworthy.facts.drives import HealthFacts, LinkFacts
    from streamworthy.facts.mapping import MappingFacts
    from streamworthy.facts.plan import EnginePlan
    from streamworthy.facts.storage import (
        Allocation,
        LatencyFacts,
        RandomReads,
        ReadLimitFacts,
        Volume,
        VolumeLatency,
        VolumesFacts,
    )

_ON_THE_HOST = "run on the host itself, or mount a folder of the host that lies on one disk"
_BASIS = (
    "a bare disk of 7200 turns a minute needs 4.2 ms for half a turn; a host's cache can hide one, so this says "
    "'no bare spinning disk', and the measured read rates say the rest"
)


@bounds(accept=required(WORDS), advise=required(WORDS))
def filesystem(facts: VolumesFacts, limit: Limit) -> Verdict:
    """Judge the type of each filesystem that holds shards; others than ``accept`` and ``advise`` fail."""
    accept, advise = limit.values["accept"], limit.values["advise"]
    found = [each for volume in facts.volumes for each in judge_filesystem(volume, accept, advise)]
    wanted = f"{', '.join(accept)}" + (f" (with advice {', '.join(advise)})" if advise else "")
    return worst(found, required=wanted)


@bounds()
def network(facts: VolumesFacts, limit: Limit) -> Verdict:  # noqa: ARG001 - every criterion takes its limit
    """Judge whether each read stays in this kernel: no network, no hypervisor's relay, no FUSE."""
    found = [each for volume in facts.volumes for each in network_findings(volume)]
    return worst(found, required="local")


@bounds()
def mappable(facts: MappingFacts, plan: EnginePlan, limit: Limit) -> Verdict:  # noqa: ARG001 - no bounds
    """Judge whether each shard can be mapped as the engine maps it, by having done so."""
    if facts.missing or not plan.mmap:
        return not_applicable(facts.missing or "the tier's engine reads the shards into memory instead of mapping them")
    if facts.unknown:
        return unknown(f"whether shards can be mapped was not tried: {facts.unknown}")
    found = [each for volume in facts.volumes for each in judge_mapping(volume, facts.deadline_seconds)]
    return worst(found, required="one page of each shard mapped shared", evidence=mapping_evidence(facts))


@bounds(random_read_at_most=required(SECONDS))
def rotational(facts: VolumesFacts, latency: LatencyFacts, limit: Limit) -> Verdict:
    """Judge whether a disk below the model spins; by measured latency where its flag is no evidence."""
    at_most = limit.values["random_read_at_most"]
    found = [each for volume in facts.volumes for each in judge_medium(volume, _of(latency, volume), at_most)]
    return _with_latency(found, latency, f"not spinning (random read at most {format_seconds(at_most)})")


@bounds(accept=required(WORDS), random_read_at_most=required(SECONDS))
def transport(facts: VolumesFacts, latency: LatencyFacts, limit: Limit) -> Verdict:
    """Judge how each disk is attached; ``virtual`` and ``raid``, where accepted, are settled by latency."""
    accept, at_most = limit.values["accept"], limit.values["random_read_at_most"]
    found = [
        each for volume in facts.volumes for each in judge_transport(volume, _of(latency, volume), accept, at_most)
    ]
    return _with_latency(found, latency, f"one of {', '.join(accept)}")


def _of(latency: LatencyFacts, volume: Volume) -> VolumeLatency | None:
    return next((each for each in latency.volumes if each.mount_point == volume.mount.mount_point), None)


def _with_latency(found: list[Finding], latency: LatencyFacts, wanted: str) -> Verdict:
    measured = [(each.mount_point, each.reads) for each in latency.volumes if each.reads is not None]
    if not measured:
        return worst(found, required=wanted)
    _, slowest = max(measured, key=lambda each: each[1].median_seconds)
    return worst(
        found,
        required=wanted,
        value=slowest.median_seconds,
        unit=SECONDS.unit,
        samples=slowest.latencies_seconds,
        evidence=(*(_evidence(point, reads) for point, reads in measured), f"basis={_BASIS}"),
    )


def _evidence(mount_point: str, reads: RandomReads) -> str:
    median, p99 = format_seconds(reads.median_seconds), format_seconds(reads.p99_seconds)
    return f"random_read_at_{mount_point}=median {median}, p99 {p99} of {reads.read_count} reads, {reads.method}"


@bounds()
def link(facts: LinkFacts, limit: Limit) -> Verdict:  # noqa: ARG001 - no bounds: both ends of a link say what it could
    """Judge whether the PCIe link of each NVMe drive is what drive and slot can do."""
    if facts.unknown:
        return unknown(f"the drives are not known, nor their links: {facts.unknown}", _ON_THE_HOST)
    if not facts.links:
        return not_applicable(f"no drive with a PCIe link of its own: {', '.join(facts.others) or 'no disk at all'}")
    rates = [each.current.bytes_per_second for each in facts.links if each.current is not None]
    return worst(
        [judge_link(each) for each in facts.links],
        required="the best that drive and slot can do",
        value=min(rates, default=None),
        unit=BYTES_PER_SECOND.unit if rates else "",
        evidence=tuple(f"{each.function}={'read' if each.loaded else 'idle'}" for each in facts.links),
    )


@bounds(at_least=required(BYTES_PER_SECOND))
def read_limit(facts: ReadLimitFacts, limit: Limit) -> Verdict:
    """Judge what control groups let be read from the model's disks; the least decides."""
    return judge_read_limits(facts, limit, otherwise=_ON_THE_HOST)


@bounds(advised_at_most=required(SHARE))
def health(facts: HealthFacts, limit: Limit) -> Verdict:
    """Judge what each NVMe drive says of its own health, with advice beyond ``advised_at_most``, and each md array."""
    if facts.unknown:
        return unknown(f"the drives are not known, nor their health: {facts.unknown}", _ON_THE_HOST)
    if not facts.drives and not facts.arrays:
        asked = ", ".join(facts.others) or "no disk at all"
        return not_applicable(f"only NVMe drives are asked for their health, and below the model is {asked}")
    advised = limit.values["advised_at_most"]
    used = [drive.log.used_share for drive in facts.drives if drive.log is not None]
    return worst(
        [*(judge_health(drive, advised) for drive in facts.drives), *map(judge_array, facts.arrays)],
        required=f"no critical state, at most {SHARE.format(advised)} used",
        value=max(used, default=None),
        unit=SHARE.unit if used else "",
    )


@bounds(prefer=required(WORDS))
def mount_options(facts: VolumesFacts, limit: Limit) -> Verdict:
    """Judge whether reads avoid access-time writes: any preferred option, or a read-only mount, is enough."""
    prefer = limit.values["prefer"]
    return worst([_options_of(volume, prefer) for volume in facts.volumes], required=f"one of {', '.join(prefer)}")


def _options_of(volume: Volume, prefer: tuple[str, ...]) -> Finding:
    point, options = volume.mount.mount_point, volume.mount.options
    present = [option for option in options if option in prefer or option == "ro"]
    if present:
        return Finding(word=Word.PASS, measured=f"{', '.join(present)} at {point}", cause="", fix=())
    cause = f"{point} is mounted with {','.join(options)}: without noatime or relatime every read dirties its inode"
    fix = (
        f"sudo mount -o remount,noatime {shlex.quote(point)}",
        f"# and add noatime to the options of {shlex.quote(point)} in /etc/fstab",
    )
    return Finding(word=Word.FAIL, measured=f"{','.join(options)} at {point}", cause=cause, fix=fix)


@bounds(at_least=required(RATIO))
def free_space(facts: VolumesFacts, asked: Allocation, limit: Limit) -> Verdict:
    """Judge room on each filesystem: available plus already placed, as a multiple of the set's share there.

    What the filesystem itself refused for the missing shards fails whatever statvfs says.
    """
    if facts.set_total_bytes is None:
        return unknown(
            "the size of the whole set is not known: neither the shards' headers nor a manifest tell it",
            "place the first shard, or give --sha256 MANIFEST",
        )
    rooms = rooms_of(facts)
    ratios = [room.ratio for room in rooms if room.ratio is not None and not room.sealed]
    return worst(
        [*judge_allocation(asked), *(judge_room(room, limit.values["at_least"]) for room in rooms)],
        required=format_required(RATIO, limit),
        value=min(ratios, default=None),
        unit=RATIO.unit if ratios else "",
        evidence=(f"allocation={asked.not_asked or f'{format_bytes(asked.size_bytes)} asked for in {asked.folder}'}",),
    )


@bounds(at_most=required(SHARE), advised_at_most=optional(SHARE))
def used_share(facts: VolumesFacts, limit: Limit) -> Verdict:
    """Judge how full each filesystem is, counted as df counts: used / (used + available to everyone)."""
    at_most = limit.values["at_most"]
    advised = limit.values.get("advised_at_most", at_most)
    filling = [volume for volume in facts.volumes if not is_sealed(volume.mount)]
    shares = [share for share in map(used_share_of, filling) if share is not None]
    wanted = format_required(SHARE, limit) + (f", {SHARE.format(advised)} advised" if advised < at_most else "")
    return worst(
        [judge_used(volume, at_most, advised) for volume in facts.volumes],
        required=wanted,
        value=max(shares, default=None),
        unit=SHARE.unit if shares else "",
    )


@bounds(at_most=required(SHARE))
def quiet(facts: ActivityFacts, limit: Limit) -> Verdict:
    """Judge how busy others keep the model's disks; more leaves numbers open, it does not fail."""
    return judge_activity(facts, limit)


@bounds(below_warning_at_least=required(KELVIN))
def temperature(facts: TemperatureFacts, limit: Limit) -> Verdict:
    """Judge each drive against the temperature at which it slows down, by its own word."""
    if not facts.drives:
        return not_applicable("no drive of this machine lies below the shards")
    return worst(
        [judge_temperature(drive, limit) for drive in facts.drives],
        required=f"{KELVIN.format(limit.values['below_warning_at_least'])} below where the drive slows down",
        value=max((drive.celsius for drive in facts.drives if drive.celsius is not None), default=None),
        unit="celsius",
    )


@bounds(at_most=required(SHARE))
def read_ahead(facts: ReadAheadFacts, slabs: SlabReads, limit: Limit) -> Verdict:
    """Judge the read-ahead of the mounted devices as a share of the model's smallest slab; the largest decides.

    One that brings hardly more than a page misses too: each page of a slab is then a read of its own.
    """
    if slabs.dense:
        return not_applicable(slabs.dense)
    known = [each.read_ahead_bytes for each in facts.devices if each.read_ahead_bytes is not None]
    if not known or len(known) < len(facts.devices):
        return unknown(describe_read_ahead(facts))
    slab = min(slabs.slab_sizes_bytes)
    told = f"{describe_read_ahead(facts)}, the smallest slab {format_bytes(slab)}"
    found = within(
        max(known) / slab,
        limit,
        SHARE,
        cause=f"{told}: {_cost(slabs)}",
        fix=advised_fix(facts, slab),
        evidence=(f"setting={told}", f"cost={_cost(slabs)}"),
    )
    found = replace(found, measured=f"{format_bytes(max(known))}, {found.measured} of a slab of {format_bytes(slab)}")
    if min(known) >= LEAST_BYTES or found.word is Word.FAIL:
        return found
    return replace(
        found,
        word=Word.FAIL,
        measured=f"{format_bytes(min(known))} on one of {len(known)} devices" if len(known) > 1 else found.measured,
        required=f"at least {format_bytes(LEAST_BYTES)}, {found.required}",
        cause=f"{told}: each page fault reads next to nothing besides its own page, one after the other",
        fix=advised_fix(facts, slab),
    )


def _cost(slabs: SlabReads) -> str:
    if slabs.state.doubts:
        return f"what it costs was not measured: {slabs.state.doubts[0]}"
    rates = [size.mapped for size in slabs.sizes if size.mapped is not None]
    ratios = [rate.amplification_ratio for rate in rates if rate.amplification_ratio is not None]
    if not ratios:
        return "what it costs was not measured"
    return f"measured, page faults on experts read {max(ratios):.2f} bytes for each byte that is wanted"
