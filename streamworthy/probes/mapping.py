"""Whether each shard can be mapped as the engine maps it: one page, shared and read-only, and touched.

A FUSE filesystem with direct_io maps privately but not shared (ENODEV, fs/fuse/file.c), and the kind of filesystem does
not tell: so it is tried. A direct read (open(2), O_DIRECT) beside it shows that the disk answers, not its cache.
"""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from streamworthy.facts.mapping import MappingFacts, ShardMap, VolumeMaps
from streamworthy.probes.captured import tables, take

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from streamworthy.facts.storage import Volume, VolumesFacts
    from streamworthy.probes.sysroot import Sysroot

    Lines = dict[int, dict[str, str]]

SILENT = "silent"
_DEADLINE_SECONDS = 20.0  # a spinning disk that sleeps needs up to ten to wake up
_CHILD = Path(__file__).with_name("map_child.py")
_STEPS = ("open", "map", "touch")
_NUMBER = re.compile(r"[0-9.]+(?:e-[0-9]+)?")


def probe_mapping(root: Sysroot, volumes: VolumesFacts, *, deadline_seconds: float = _DEADLINE_SECONDS) -> MappingFacts:
    """Try each shard that is there; a captured machine answers from ``[[mapping]]``. Never raises ProbeError."""
    paths = [path for volume in volumes.volumes for path in volume.shards]
    found: list[ShardMap] = []
    missing, unknown = "" if paths else "no shard is there yet", ""
    if paths and not root.live:
        found, missing, unknown = _captured(root, paths)
    elif paths:
        found, unknown = _try_all(paths, deadline_seconds)
        _note(root, found, unknown)
    return MappingFacts(
        volumes=tuple(_maps_of(volume, found) for volume in volumes.volumes if volume.shards and found),
        missing=missing,
        unknown=unknown,
        deadline_seconds=deadline_seconds,
    )


def _maps_of(volume: Volume, found: Sequence[ShardMap]) -> VolumeMaps:
    return VolumeMaps(
        mount_point=volume.mount.mount_point,
        fstype=volume.mount.fstype,
        disks=tuple(dict.fromkeys(leaf.name for leaf in volume.leaves)),
        shards=tuple(each for each in found if each.path in volume.shards),
    )


def _try_all(paths: Sequence[str], deadline_seconds: float) -> tuple[list[ShardMap], str]:
    """Try files in children, a new one behind each that dies; none behind one that does not answer."""
    found: list[ShardMap] = []
    left = list(paths)
    while left:
        try:
            lines = _run(left, deadline_seconds)
        except OSError as error:
            return found, f"a process to map shards in could not be started: {error.strerror}"
        tried = [_shard_map(left[number], steps) for number, steps in sorted(lines.items())]
        if not tried:
            return found, "the process that maps shards ended and said nothing"
        found += tried
        left = left[len(tried) :]
        if found[-1].error == SILENT:
            break
    return found, ""


def _run(paths: Sequence[str], deadline_seconds: float) -> Lines:
    """Give what a child said, step by step; the step that it died in is "SIGBUS", one without an end "silent"."""
    with subprocess.Popen(
        [sys.executable, "-I", "-S", str(_CHILD)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for this process, which then ends the child
    ) as child:
        assert child.stdin is not None  # noqa: S101 - for the type checker: both are pipes
        assert child.stdout is not None  # noqa: S101
        try:
            child.stdin.write(b"".join(os.fsencode(path) + b"\0" for path in paths))
            child.stdin.close()
            lines, ended = _collect(child.stdout.fileno(), deadline_seconds)
        finally:
            child.kill()
            _reap(child)
        death = "SIGBUS" if child.returncode == -signal.SIGBUS else f"exit code {child.returncode}"
    return {number: _with_death(steps, death) for number, steps in lines.items()} if ended else lines


def _reap(child: subprocess.Popen[bytes]) -> None:
    try:
        child.wait(1.0)
    except subprocess.TimeoutExpired:  # it waits for a disk, and is gone when that answers
        child.returncode = -signal.SIGKILL


def _with_death(steps: dict[str, str], death: str) -> dict[str, str]:
    return {step: death if result == SILENT else result for step, result in steps.items()}


def _collect(descriptor: int, deadline_seconds: float) -> tuple[Lines, bool]:
    """Read lines until the child ends (True), or says nothing for too long (False)."""
    lines: Lines = {}
    rest = b""
    while select.select([descriptor], [], [], deadline_seconds)[0]:
        chunk = os.read(descriptor, 2**16)
        if not chunk:
            return lines, True
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            number, step, *result = line.decode("ascii").split(" ")
            lines.setdefault(int(number), {})[step] = result[0] if result else SILENT
    return lines, False


def _shard_map(path: str, steps: Mapping[str, str]) -> ShardMap:
    direct = steps.get("direct", "not tried")
    seconds = float(direct) if _NUMBER.fullmatch(direct) else None
    at = next((step for step in _STEPS if steps.get(step, "ok") != "ok"), "")
    if not at and direct in ("EIO", SILENT):
        at = "direct"
    if set(steps) == {"open"} and not at:
        direct = "an empty file"
    return ShardMap(
        path=path,
        refused_at=at,
        error=steps[at] if at else "",
        direct_seconds=seconds,
        direct_error="" if seconds is not None else direct,
    )


def _note(root: Sysroot, found: Sequence[ShardMap], unknown: str) -> None:
    for each in found:
        root.note("mapping", {name: value for name, value in asdict(each).items() if value is not None})
    if unknown:
        root.note("mapping", {"reason": unknown})


def _captured(root: Sysroot, paths: Sequence[str]) -> tuple[list[ShardMap], str, str]:
    answers = tables(root, "mapping")
    reason = "".join(take(root, "mapping", answer, "reason", str) for answer in answers if "reason" in answer)
    told = [_captured_map(root, answer) for answer in answers if "reason" not in answer]
    found = [each for each in told if each.path in paths]
    if not answers:
        return [], "a captured machine has no files to map, and its machine.toml has no [[mapping]]", ""
    return found, "", reason


def _captured_map(root: Sysroot, answer: Mapping[str, object]) -> ShardMap:
    timed = "direct_seconds" in answer
    return ShardMap(
        path=take(root, "mapping", answer, "path", str),
        refused_at=take(root, "mapping", answer, "refused_at", str),
        error=take(root, "mapping", answer, "error", str),
        direct_seconds=take(root, "mapping", answer, "direct_seconds", float) if timed else None,
        direct_error=take(root, "mapping", answer, "direct_error", str),
    )
