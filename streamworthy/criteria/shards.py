"""Whether the files make up one whole model that the engine will find. Pure."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from streamworthy.criteria.shard_set import Fault, find_set_faults, find_set_notes
from streamworthy.criteria.spec import Limit, bounds, required
from streamworthy.units import BYTES, format_bytes, format_counted
from streamworthy.verdict import Verdict, Word, not_applicable, unknown, verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from streamworthy.facts.gguf import ShardHeader
    from streamworthy.facts.shards import OpenFiles, SetTotal, ShardListing

_NAMED = 8  # of sixty shards not all are spelled out in one sentence
_OTHER_FILES = 32  # that an engine has open besides shards: libraries, its log, a server's connections
# huggingface_hub documentation, "Understand caching"
_SNAPSHOT = re.compile(
    r"(?P<cache>.*)/models--(?P<owner>[^/]+?)--(?P<name>[^/]+)/snapshots/(?P<revision>[^/]+)(?P<below>(?:/[^/]+)*)"
)
_PATTERN = "<prefix>-00001-of-0000N.gguf"


@bounds()
def names(facts: ShardListing, limit: Limit) -> Verdict:  # noqa: ARG001 - every criterion takes its limit
    """Every file has the name under which the engine looks for it, and no other file claims its place."""
    faults = tuple(_name_faults(facts))
    if not faults:
        files = "one file" if facts.count == 1 else f"{facts.count} shards"
        return verdict(
            Word.PASS, measured=f"{facts.prefix}: {files}", required=_PATTERN, evidence=tuple(_name_notes(facts))
        )
    return verdict(
        Word.FAIL,
        measured=format_counted(len(faults), "name") + " out of place" if facts.shards else "no single model",
        required=_PATTERN,
        cause="; ".join(_some([cause for cause, _ in faults])),
        fix=tuple(dict.fromkeys(fix for _, fix in faults if fix)),
        evidence=tuple(_name_notes(facts)),
    )


def _name_faults(facts: ShardListing) -> Iterable[tuple[str, str]]:
    """List what is wrong with the names, each with its remedy."""
    if facts.form == "ambiguous":
        first = shlex.quote(f"{facts.folder}/{facts.others[0]}")
        yield f"the folder holds several models: {', '.join(_some(facts.others))}", f"--model {first}"
    if facts.form == "byte_split":
        yield _tell_pieces(facts)
    for file in facts.misnamed:
        move = f"mv -n {_in(facts, file.name)} {_in(facts, file.expected)}" if file.expected else ""
        yield f"{file.name}: {file.reason}", move
    for name in facts.duplicates:
        yield f"{name} claims a number that is taken: a second download?", f"ls -l {shlex.quote(facts.folder)}"
    for left in facts.leftovers:
        if left.control:
            finish = "let the program finish that began the download, or start it again"
            yield f"{left.name}: {left.twin} is not finished, whatever its size", finish
        elif left.twin and not left.twin_present:
            yield f"{left.name}: the download of {left.twin} is not finished", f"finish the download of {left.twin}"


def _tell_pieces(facts: ShardListing) -> tuple[str, str]:
    cause = f"pieces of an old upload, cut without headers: {', '.join(_some([shard.name for shard in facts.shards]))}"
    if facts.missing:
        lacking = f"number {_ranges(facts.missing)} of {facts.count} is not there"
        return f"{cause}; {lacking}", "download all pieces, and join them then"
    if facts.others:
        whole = shlex.quote(f"{facts.folder}/{facts.others[0]}")
        return f"{cause}; beside the joined file", f"--model {whole}"
    pieces = " ".join(shlex.quote(shard.name) for shard in facts.shards)
    return cause, f"cd {shlex.quote(facts.folder)} && cat {pieces} > {shlex.quote(facts.prefix)}"


def _in(facts: ShardListing, name: str) -> str:
    return shlex.quote(f"{facts.folder}/{name}")


def _name_notes(facts: ShardListing) -> Iterable[str]:
    for left in facts.leftovers:
        if not left.control and (left.twin_present or not left.twin):
            yield f"leftover={left.name}"
    if facts.form != "ambiguous":
        yield from (f"also here={name}" for name in _some(facts.others))


def _some(names: Sequence[str]) -> tuple[str, ...]:
    more = (f"and {len(names) - _NAMED} more",) if len(names) > _NAMED else ()
    return (*names[:_NAMED], *more)


@bounds()
def complete(facts: ShardListing, total: SetTotal, files: OpenFiles, limit: Limit) -> Verdict:  # noqa: ARG001 - as above
    """Every number from 1 to N has its file, and the engine may open them all at once."""
    if facts.form == "byte_split":
        return unknown("pieces without headers do not tell how many there are", "see the gate shards.names")
    dangling = tuple(shard.name for shard in facts.shards if shard.real_path is None)
    empty = tuple(shard.name for shard in facts.shards if shard.real_path is not None and not shard.size_bytes)
    absent = len(facts.missing) + len(dangling) + len(empty)
    if not absent and files.soft_count is not None and files.soft_count < facts.count + _OTHER_FILES:
        return _too_many(facts.count, files)
    about = "" if total.exact else "about "
    count = format_counted(facts.count, "shard")
    return verdict(
        Word.FAIL if absent else Word.PASS,
        measured=f"{facts.count - absent} of {count}, {format_bytes(total.present_bytes)} of"
        f" {about}{format_bytes(total.whole_bytes)}",
        required=f"{facts.count} of {count}",
        value=float(facts.count - absent),
        unit="count",
        cause=_absence(facts, dangling, empty, total) if absent else "",
        fix=tuple(_fetch(facts, (*dangling, *empty))) if absent else (),
        evidence=(f"size={total.basis}",),
    )


def _too_many(count: int, files: OpenFiles) -> Verdict:
    need = count + _OTHER_FILES
    raised = files.hard_count is None or files.hard_count >= need
    return verdict(
        Word.FAIL,
        measured=f"{format_counted(count, 'shard')}, {format_counted(files.soft_count or 0, 'open file')} allowed",
        required=f"{need} open files",
        value=float(files.soft_count or 0),
        unit="count",
        cause="the engine keeps all shards open while it loads, and stops with 'Too many open files'",
        fix=(
            f"ulimit -n {need}"
            if raised
            else f"raise 'nofile' to {need} in /etc/security/limits.conf and log in again",
            f"for a service: LimitNOFILE={need}",
        ),
    )


def _absence(facts: ShardListing, dangling: tuple[str, ...], empty: tuple[str, ...], total: SetTotal) -> str:
    parts = []
    if facts.missing:
        parts.append(f"missing: {_ranges(facts.missing)}")
    if dangling:
        parts.append(f"blob missing behind the links {', '.join(_some(dangling))}: cache moved, or copied without it?")
    if empty:
        parts.append(f"empty: {', '.join(_some(empty))}: the download did not begin, or the disk was full?")
    left = max(0, total.whole_bytes - total.present_bytes)
    return f"{'; '.join(parts)}; {'' if total.exact else 'about '}{format_bytes(left)} to fetch"


def _ranges(numbers: Sequence[int]) -> str:
    """Write numbers short: ``2, 4-7``."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1] = [parts[-1][0], number]
        else:
            parts.append([number])
    return ", ".join("-".join(str(one) for one in part) for part in parts)


def _fetch(facts: ShardListing, others: tuple[str, ...]) -> Iterable[str]:
    absent = [f"{facts.prefix}-{number:05d}-of-{facts.count:05d}.gguf" for number in facts.missing]
    snapshot = _SNAPSHOT.fullmatch(facts.folder)
    for name in (*absent, *others)[:_NAMED]:
        if snapshot is None:
            yield f"hf download OWNER/REPOSITORY {shlex.quote(name)} --local-dir {shlex.quote(facts.folder)}"
        else:  # --local-dir would leave the cache's link as it is
            repository, file = (
                f"{snapshot['owner']}/{snapshot['name']}",
                f"{snapshot['below']}/{name}".removeprefix("/"),
            )
            cache = f"--cache-dir {shlex.quote(snapshot['cache'])}"
            yield f"hf download {repository} {shlex.quote(file)} --revision {snapshot['revision']} {cache}"


@bounds()
def headers(facts: ShardListing, found: tuple[ShardHeader, ...], limit: Limit) -> Verdict:  # noqa: ARG001 - as above
    """Every header is sound, and all of them describe one set."""
    faults = (*_own_faults(facts, found, model=False), *find_set_faults(facts, found))
    # a shard that does not belong to the set has no place in the model: that is not said once more
    faults = faults or _own_faults(facts, found, model=True)
    tensors = sum(len(entry.header.tensors) for entry in found if entry.header)
    sound = sum(1 for entry in found if entry.header and not entry.faults)
    return verdict(
        Word.FAIL if faults else Word.PASS,
        measured=f"{sound} sound of {format_counted(len(found), 'header')}, {format_counted(tensors, 'tensor')}"
        + (f", {format_counted(len(faults), 'fault')}" if faults else ""),
        required="sound headers that agree",
        value=float(len(faults)),
        unit="count",
        cause="; ".join(_some([cause for cause, _ in faults])),
        fix=tuple(dict.fromkeys(line for _, fix in faults for line in fix)),
        evidence=find_set_notes(found),
    )


def _own_faults(facts: ShardListing, found: Sequence[ShardHeader], *, model: bool) -> tuple[Fault, ...]:
    if facts.form == "byte_split":
        return ()
    return tuple(
        (f"{entry.name}: {fault.line}", fault.fix)
        for entry in found
        for fault in entry.faults
        if (fault.kind == "model") == model
    )


@bounds(at_least=required(BYTES), at_most=required(BYTES), total_at_least=required(BYTES))
def sizes(facts: ShardListing, total: SetTotal, limit: Limit) -> Verdict:
    """Shards of a large set have a handy size; the first may hold keys alone, and the last what was left."""
    floor = limit.values["total_at_least"]
    shown = _span([shard.size_bytes for shard in facts.shards])
    if total.whole_bytes < floor:
        return not_applicable(
            f"a set of {format_bytes(total.whole_bytes)} is handy however it is cut (from {format_bytes(floor)} on)",
            measured=shown,
        )
    low, high = limit.values["at_least"], limit.values["at_most"]
    small = [shard for shard in facts.shards if shard.size_bytes < low and 1 < shard.number < facts.count]
    large = [shard for shard in facts.shards if shard.size_bytes > high]
    worst = max(shard.size_bytes for shard in large) if large else min((one.size_bytes for one in small), default=0)
    return verdict(
        Word.FAIL if small or large else Word.PASS,
        measured=shown,
        required=f"at least {format_bytes(low)}, at most {format_bytes(high)}",
        value=float(worst or max((shard.size_bytes for shard in facts.shards), default=0)),
        unit=BYTES.unit,
        samples=tuple(float(shard.size_bytes) for shard in facts.shards),
        cause=f"too small: {len(small)}, too large: {len(large)}" if small or large else "",
        fix=(
            f"llama-gguf-split --merge {facts.shards[0].name} WHOLE.gguf",
            "llama-gguf-split --split --split-max-size 18G WHOLE.gguf PREFIX",
        )
        if small or large
        else (),
    )


def _span(sizes_bytes: Sequence[int]) -> str:
    if not sizes_bytes:
        return "no shards"
    low, high = min(sizes_bytes), max(sizes_bytes)
    return format_bytes(high) if len(sizes_bytes) == 1 else f"{format_bytes(low)} to {format_bytes(high)}"
