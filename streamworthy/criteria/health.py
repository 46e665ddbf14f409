"""Whether a drive's own words speak of its end. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.criteria.finding import Finding
from streamworthy.units import format_share
from streamworthy.verdict import Word

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamworthy.facts.drives import ArrayState, DriveHealth, HealthLog

# NVM Express Base Specification 1.4, figure 194: critical warning bits that speak of what is stored
_ENDING = {
    0: "its spare blocks are used up: the next worn block is lost",
    2: "its reliability is degraded by errors of media or controller",
    3: "it has put itself into read-only mode, as drives do at their end",
}
_PASSING = {
    1: "it is hotter or colder than it may be, and slows down",
    4: "its backup of volatile memory has failed: a power cut loses writes, not the shards",
    5: "its persistent memory region is unreliable, which the shards do not use",
}
_LEAVING = ("# copy the shards to another drive now, compare: sha256sum -c MANIFEST, and replace this one",)


def judge_health(drive: DriveHealth, advised_at_most: float) -> Finding:
    """Judge one drive: what ends it fails, what passes or only may end it is advised."""
    if drive.log is None:
        return Finding(
            word=Word.ERROR,
            measured=f"{drive.name} unknown",
            cause=f"the health of {drive.name} is not known: {drive.unknown}",
            fix=(_smart_log(drive.name), f"sudo smartctl -a /dev/{drive.name}"),
        )
    measured = f"{drive.name}: {describe_health(drive.log)}"
    ending, passing = tuple(_ends(drive.log)), tuple(_passes(drive.log, advised_at_most))
    if ending or passing:
        told = "; ".join((*ending, *passing))
        fix = (_smart_log(drive.name), *(_LEAVING if ending else ()))
        word = Word.FAIL if ending else Word.ADVICE
        return Finding(word=word, measured=measured, cause=f"{drive.name} says: {told}", fix=fix)
    return Finding(word=Word.PASS, measured=measured, cause="", fix=())


def judge_array(array: ArrayState) -> Finding:
    """Advise on an array that lacks a member, or is being read by its own kernel."""
    told = []
    if array.lacking_count:
        told.append(
            f"lacks {array.lacking_count} of its drives: what they held is read from the others, and may be gone with "
            "the next one"
        )
    if array.action not in ("", "idle", "frozen"):
        told.append(f"is in a {array.action}, which reads its drives meanwhile")
    measured = f"{array.name} ({array.level}): {'whole' if not told else '; '.join(told).partition(':')[0]}"
    if not told:
        return Finding(word=Word.PASS, measured=measured, cause="", fix=())
    add = (f"sudo mdadm --manage /dev/{array.name} --add /dev/NEW  # a drive for the missing one",)
    return Finding(
        word=Word.ADVICE,
        measured=measured,
        cause=f"{array.name} ({array.level}) {' and '.join(told)}",
        fix=(f"cat /proc/mdstat; sudo mdadm --detail /dev/{array.name}", *(add if array.lacking_count else ())),
    )


def _ends(log: HealthLog) -> Iterator[str]:
    yield from (said for bit, said in _ENDING.items() if log.critical_warning >> bit & 1)
    if log.spare_share < log.spare_threshold_share and not log.critical_warning & 1:
        yield _ENDING[0]


def _passes(log: HealthLog, advised_at_most: float) -> Iterator[str]:
    yield from (said for bit, said in _PASSING.items() if log.critical_warning >> bit & 1)
    if log.media_errors_count:
        yield f"{log.media_errors_count} times it could not give back what was stored: compare the shards' hashes"
    if log.used_share > advised_at_most:
        yield f"{format_share(log.used_share)} of the writes that it is rated for are done"


def _smart_log(name: str) -> str:
    return f"sudo nvme smart-log /dev/{name}"


def describe_health(log: HealthLog) -> str:
    """Write a drive's health in one phrase."""
    spare = f"spare {format_share(log.spare_share)} (warns below {format_share(log.spare_threshold_share)})"
    return f"{spare}, {format_share(log.used_share)} used, {log.media_errors_count} media errors"
