"""Whether the shards' bytes are all there and the right ones. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.criteria.content import (
    content_evidence,
    doubt_manifest,
    doubt_revisions,
    fetch_again,
    some,
    tell_open,
    tell_wrong,
)
from streamworthy.criteria.leaks import how_to_clean, tell_leak
from streamworthy.criteria.spec import Limit, bounds
from streamworthy.criteria.tensor_data import (
    coverage,
    how_to_mend,
    is_torn,
    is_zero_matrix,
    scan_evidence,
    tell_broken,
    tell_torn,
    tell_zero_matrix,
)
from streamworthy.units import format_bytes, format_counted, format_share
from streamworthy.verdict import Verdict, Word, unknown, verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamworthy.facts.integrity import HashFacts, MetadataScan, TensorScan
    from streamworthy.facts.shards import ExtentFacts, SetExtents

# A preallocated download leaves large holes; zeros that `cp --sparse` skipped in a sound file are a row or two.
_HOLE_SHARE = 0.01
# Sizes at which something else than a broken download cuts a file, often without an error.
_CUTTERS = {
    2**32 - 1: ": exactly the largest file of FAT32, on which it is or was; exFAT, ext4 and xfs hold larger ones",
    2**31 - 1: ": exactly what a program with 32-bit file offsets can write; fetch or copy it with another one",
}
_FINISH = "finish or repeat the download of these shards, then compare: sha256sum -c MANIFEST"
_LEAVE_DRIVE = (
    "sudo dmesg | tail    # shows read errors of the drive",
    "sudo smartctl -a /dev/DRIVE    # its own word on its health",
    "download these shards again, to another drive",
)
_AS_LISTED = "every shard as the manifest says"
_WHEN_UNREAD = (
    "wait until no download writes to these files any more, then run again",
    "sudo dmesg | tail    # shows read errors of the drive",
)
_WHEN_UNCHECKED = ("pip install xxhash    # or a manifest with sha256 lines: llama-gguf-hash --sha256 SHARD",)
_WHEN_FAR = (
    "sha256sum -c SHA256SUMS    # on the machine that has the disks",
    "pytest -m qualify --rehash    # reads all of it over the network",
)
_HOW_TO_GET_A_MANIFEST = (
    "give the publisher's list: --sha256 SHA256SUMS",
    "hf download OWNER/REPOSITORY --include '*.gguf' --local-dir FOLDER    # keeps each file's hash beside it",
    "or, on a machine whose copy is known to be good: streamworthy verify MODEL --make-manifest > SHA256SUMS",
)


@bounds()
def extents(facts: SetExtents, limit: Limit) -> Verdict:  # noqa: ARG001 - every criterion takes its limit
    """Every tensor lies inside its file, and the file was written there."""
    broken = tuple(_fault(shard) for shard in facts.shards if _fault(shard)) + facts.cut
    unread = tuple(_read_fault(shard) for shard in facts.shards if shard.ends.error)
    if broken or unread:
        kinds = [
            f"{len(lines)} of {format_counted(_count(facts), 'shard')} {said}"
            for lines, said in ((broken, "cut short"), (unread, "with a read error"))
            if lines
        ]
        return verdict(
            Word.FAIL,
            measured="; ".join(kinds),
            required="every tensor inside its file",
            value=float(len(broken) + len(unread)),
            unit="count",
            cause="; ".join(broken + unread),
            fix=(*((_FINISH,) if broken else ()), *(_LEAVE_DRIVE if unread else ())),
            evidence=_notes(facts),
        )
    if facts.unread:
        return unknown(
            f"a header that cannot be read does not tell where its tensors end: {'; '.join(facts.unread)}",
            "see the gate shards.headers",
        )
    tensors = sum(shard.tensor_count for shard in facts.shards)
    return verdict(
        Word.PASS,
        measured=f"{format_counted(tensors, 'tensor')} inside {format_counted(len(facts.shards), 'file')}",
        required="every tensor inside its file",
        value=0.0,
        unit="count",
        evidence=_notes(facts),
    )


def _count(facts: SetExtents) -> int:
    return len(facts.shards) + len(facts.cut) + len(facts.unread)


def _fault(shard: ExtentFacts) -> str:
    if shard.outside_count:
        return (
            f"{shard.name} has {format_bytes(shard.have_bytes)} of {format_bytes(shard.need_bytes)}"
            f" ({format_share(shard.have_bytes / shard.need_bytes)},"
            f" {format_counted(shard.need_bytes - shard.have_bytes, 'byte')} missing;"
            f" first tensor outside: {shard.first_outside}){_CUTTERS.get(shard.have_bytes, '')}"
        )
    if shard.hole_bytes >= _HOLE_SHARE * shard.need_bytes and shard.hole_bytes:
        return (
            f"{shard.name} has its full size, but {format_bytes(shard.hole_bytes)} of it were never written, from byte"
            f" {shard.first_hole_bytes}: a download that allocates first and was interrupted?"
        )
    return ""


def _read_fault(shard: ExtentFacts) -> str:
    return (
        f"{shard.name} cannot be read at byte {shard.ends.failed_byte}, the end of a stretch on its disk:"
        f" {shard.ends.error}, a read error of the drive or of what lies below it"
    )


def _notes(facts: SetExtents) -> tuple[str, ...]:
    notes = []
    for shard in facts.shards:
        if shard.trailing_magic:
            notes.append(f"trailing={shard.name}: another GGUF follows its tensors, joined with cat?")
        elif shard.trailing_bytes:
            notes.append(f"trailing={shard.name}: {shard.trailing_bytes} bytes behind its tensors belong to no tensor")
        if 0 < shard.hole_bytes < _HOLE_SHARE * shard.need_bytes:
            notes.append(f"holes={shard.name}: {shard.hole_bytes} bytes read as zeros")
    tried = sum(shard.ends.read_count for shard in facts.shards)
    every = sum(shard.ends.extents_count for shard in facts.shards)
    return (*notes, *((f"ends_read={tried} of {every} extents",) if every else ()))


@bounds()
def tensors(facts: TensorScan, limit: Limit) -> Verdict:  # noqa: ARG001 - every criterion takes its limit
    """No weight that was looked at is NaN or infinite, and no range of weights was left out."""
    torn = [run for run in facts.zero_runs if is_torn(run)]
    zero = [run for run in facts.zero_runs if is_zero_matrix(run)]
    faults = (*(tell_broken(one) for one in facts.broken), *(tell_torn(run) for run in torn))
    if not faults and facts.unread:
        return unknown(f"not looked at: {some(facts.unread)}", "\n".join(_WHEN_UNREAD))
    paths = [str(one.path) for one in facts.broken] + [str(run.path) for run in (*torn, *zero)]
    count = format_counted(facts.tensor_count, "tensor")
    return verdict(
        Word.FAIL if faults else Word.ADVICE if zero else Word.PASS,
        measured=f"{format_counted(len(faults), 'fault')} in {count}, looked at {coverage(facts)}",
        required="no NaN, no infinity, no range left out",
        value=float(len(faults)),
        unit="count",
        cause=some(faults or tuple(tell_zero_matrix(run) for run in zero)),
        fix=tuple(how_to_mend(paths)) if paths else (),
        evidence=tuple(scan_evidence(facts)),
    )


@bounds()
def metadata_leaks(facts: MetadataScan, limit: Limit) -> Verdict:  # noqa: ARG001 - every criterion takes its limit
    """No key tells who made the file, on which machine, or with which token."""
    return verdict(
        Word.FAIL if facts.leaks else Word.PASS,
        measured=f"{format_counted(len(facts.leaks), 'finding')} in {format_counted(facts.key_count, 'key')} with text",
        required="no paths, hosts, tokens, e-mails",
        value=float(len(facts.leaks)),
        unit="count",
        cause=some(tuple(tell_leak(leak) for leak in facts.leaks)),
        fix=tuple(how_to_clean(facts.leaks)) if facts.leaks else (),
        evidence=tuple(f"cut={key}: only its beginning was looked at" for key in facts.cut),
    )


@bounds()
def hashes(facts: HashFacts, limit: Limit) -> Verdict:  # noqa: ARG001 - every criterion takes its limit
    """Every shard has the content that its manifest says, whole or tensor by tensor."""
    count = format_counted(facts.shard_count, "shard")
    if facts.manifest is None:
        return unknown(
            f"content not verified: no manifest for {count}; wrong bytes of the right size load and run",
            "\n".join(_HOW_TO_GET_A_MANIFEST),
        )
    wrong = tell_wrong(facts)
    if wrong or facts.manifest.missing:
        return _content_differs(facts, wrong, facts.manifest.missing)
    open_ = tell_open(facts)
    if open_ and facts.far:
        return unknown(
            f"content not verified: {len(open_)} of {count} would be read over {facts.far}, and nobody asked for that",
            "\n".join(_WHEN_FAR),
        )
    if open_:
        how = _WHEN_UNREAD if facts.unread else _WHEN_UNCHECKED if facts.unchecked else _HOW_TO_GET_A_MANIFEST
        return unknown(f"content not verified: {len(open_)} of {count}: {some(open_)}", "\n".join(how))
    whole = {shard.expected.path for shard in facts.shards}
    checked = whole | {one.expected.path for one in facts.tensors}
    doubt, remedy = _doubt(facts, len(checked) - len(whole))
    return verdict(
        Word.ADVICE if doubt else Word.PASS,
        measured=f"{len(checked)} of {count} match",
        required=_AS_LISTED,
        value=0.0,
        unit="count",
        cause=doubt,
        fix=remedy,
        evidence=content_evidence(facts),
    )


def _doubt(facts: HashFacts, tensors_alone: int) -> tuple[str, tuple[str, ...]]:
    """Say what is left open where everything that is listed matches, and what to do; empty when nothing is."""
    if tensors_alone:
        headers = format_counted(tensors_alone, "shard")
        return f"keys and vocabulary of {headers} are in no hash: only tensors are", _HOW_TO_GET_A_MANIFEST
    return doubt_revisions(facts) or ("", ())


def _content_differs(facts: HashFacts, wrong: Mapping[str, str], missing: tuple[str, ...]) -> Verdict:
    differ = (*wrong.values(), *(f"{name} is in the manifest and not there" for name in missing))
    doubt, check = doubt_manifest(facts) or ("", "")
    return verdict(
        Word.FAIL,
        measured=f"{len(differ)} of {format_counted(facts.shard_count + len(missing), 'shard')} wrong or missing",
        required=_AS_LISTED,
        value=float(len(differ)),
        unit="count",
        cause="; ".join(part for part in (doubt, some(differ)) if part),
        fix=(*((check,) if check else ()), *fetch_again(facts, wrong), *(f"download {name}" for name in missing)),
        evidence=(*(f"wrong={line}" for line in differ), *content_evidence(facts)),
    )
