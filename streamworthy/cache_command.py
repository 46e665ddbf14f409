"""The command ``streamworthy cache``: what the page cache holds of a model, and what it should hold."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from streamworthy.bench.disturbers import find_mappers
from streamworthy.bench.evict import evict
from streamworthy.bench.hold import dense_places, hold, memlock_fix
from streamworthy.bench.page_cache import is_fuse
from streamworthy.bench.residency import residency
from streamworthy.bench.residency_map import map_cache, residency_of
from streamworthy.bench.warm_up import warm_up
from streamworthy.errors import ProbeError, UsageError
from streamworthy.gguf.subject import Subject
from streamworthy.probes.machine import Machine
from streamworthy.probes.sysroot import Sysroot
from streamworthy.report.cache import format_cache, format_hold, format_warm_up
from streamworthy.report.facts_file import to_json
from streamworthy.units import BYTES, format_bytes, format_seconds, format_share

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from streamworthy.facts.cache import CacheMap

_RESERVE_BYTES = 2**30  # what the engine and everybody else may still want
_HELD_SHARE = 0.99


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command, its four actions and their options."""
    parser = commands.add_parser("cache", help="what the page cache holds of a model: show, warm, evict, hold")
    actions = parser.add_subparsers(title="actions", required=True, metavar="ACTION")

    def action(name: str, run: Callable[..., int], text: str) -> argparse.ArgumentParser:
        added = actions.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        added.add_argument("model", type=Path, metavar="MODEL", help="any shard of the model, or its folder")
        added.set_defaults(run=run)
        return added

    shown = action("show", run_show, "residency by shard, kind of tensor and layer, without reading the files")
    shown.add_argument("--json", action="store_true", help="print the numbers as JSON")
    warmed = action("warm", run_warm, "read into memory what every token needs, then experts layer by layer")
    warmed.add_argument("--bytes", metavar="SIZE", help='such as "8 GiB" (default: available memory less 1 GiB)')
    evicted = action("evict", run_evict, "drop the model's pages, and verify it; needs no root")
    evicted.add_argument("--disturb", action="store_true", help="also under a process that maps the shards")
    held = action("hold", run_hold, "lock tensors in memory until Ctrl-C")
    held.add_argument("--dense", action="store_true", required=True, help="those that every token reads")
    held.add_argument("--seconds", type=float, metavar="N", help="let go after N seconds")


def run_show(arguments: argparse.Namespace, say: Callable[[str], None]) -> int:
    """Print what is resident; gives the exit code."""
    subject = Subject(arguments.model)
    found = _map(subject)
    if arguments.json:
        say(json.dumps(to_json(found), indent=1, ensure_ascii=False))
        return 0
    for line in (*_incomplete(subject), *format_cache(found)):
        say(line)
    return 0


def _map(subject: Subject) -> CacheMap:
    paths = _paths(subject)
    try:
        places = subject.places
    except ProbeError as error:
        return map_cache(paths, (), layout_unknown=error.message)
    return map_cache(paths, places)


def run_warm(arguments: argparse.Namespace, say: Callable[[str], None]) -> int:
    """Warm within the budget; 1 when the pages did not stay."""
    subject = Subject(arguments.model)
    _paths(subject)  # or it is refused
    places = subject.places
    budget = _budget(arguments.bytes, say)
    for line in _incomplete(subject):
        say(line)
    done = warm_up(places, budget, progress=_progress(say))
    for line in format_warm_up(done):
        say(line)
    if done.after_bytes < _HELD_SHARE * done.wanted_bytes:
        say("the kernel dropped pages while others were read: there is less memory than that; try --bytes with less")
        return 1
    return 0


def run_evict(arguments: argparse.Namespace, say: Callable[[str], None]) -> int:
    """Evict and verify; 1 when pages stayed. UsageError when a process maps the shards."""
    paths = _paths(Subject(arguments.model))
    mapping, closed = find_mappers(Sysroot(), paths)
    if mapping and not arguments.disturb:
        raise UsageError(
            f"evict: found {', '.join(mapping)} mapping the shards, expected nobody: it would have to read them again",
            fix="end that process, or add --disturb",
        )
    before = residency(paths)
    found = evict(paths)
    say(
        f"resident {format_share(before.share)} -> {format_share(found.after.share)} of"
        f" {format_bytes(found.after.total_bytes)} ({found.after.method}), in {format_seconds(found.seconds)}"
    )
    if closed:
        say(f"not asked whether they map the shards: {closed} process{'es' * (closed > 1)} of other users")
    if found.kept:
        say(found.kept)
    return 1 if found.kept else 0


def run_hold(arguments: argparse.Namespace, say: Callable[[str], None]) -> int:
    """Hold the dense tensors until Ctrl-C or for some seconds; 1 when not all of them could be locked."""
    if arguments.seconds is not None and not 0 <= arguments.seconds < float("inf"):
        raise UsageError(f"--seconds: found {arguments.seconds}, expected 0 or more", fix="--seconds 60")
    subject = Subject(arguments.model)
    _paths(subject)  # or it is refused
    dense = dense_places(subject.places)
    root, progress = Sysroot(), _progress(say)
    with hold(root, dense, available_bytes=_spare_bytes(), progress=progress) as held:
        for line in format_hold(held):
            say(line)
        whole = held.held_bytes == held.wanted_bytes
        if not whole:
            say(f"the limit for locked memory is {format_bytes(held.limit_bytes or 0)}; to hold all:")
            say(memlock_fix(held.wanted_bytes))
        say("until Ctrl-C" if arguments.seconds is None else f"for {format_seconds(arguments.seconds)}")
        began = time.monotonic()
        with suppress(KeyboardInterrupt):  # the way it is meant to end
            _wait(arguments.seconds)
        kept, seconds = residency_of(dense), time.monotonic() - began
    say(f"let go after {format_seconds(seconds)}, at {format_share(kept.share)} resident")
    return 0 if whole else 1


def _wait(seconds: float | None) -> None:
    end = None if seconds is None else time.monotonic() + seconds
    while end is None or time.monotonic() < end:
        time.sleep(1.0 if end is None else max(0.0, min(1.0, end - time.monotonic())))


def _paths(subject: Subject) -> tuple[Path, ...]:
    paths = tuple(Path(shard.path) for shard in subject.present)
    if not paths:
        raise UsageError(f"{subject.listing.folder}: found no shard, expected at least one", fix="name another model")
    if any(is_fuse(path) for path in paths):
        raise ProbeError(
            f"{subject.listing.folder}: lies on FUSE, which may drop a file's pages whenever it is opened: asking would"
            " change what is asked about",
            fix="keep the shards on ext4 or xfs",
        )
    return paths


def _incomplete(subject: Subject) -> list[str]:
    missing = len(subject.listing.missing)
    lines = (
        [f"{missing} of {subject.listing.count} shards are missing: this is of those that are there"] if missing else []
    )
    return lines + [f"{entry.name}: not read: {entry.faults[0].line}" for entry in subject.headers if not entry.header]


def _spare_bytes() -> int:
    available = Machine(Sysroot()).memory.working_available_bytes
    if available is None:
        raise ProbeError("memory: this kernel tells no available memory, expected MemAvailable", fix="--bytes SIZE")
    return max(0, available - _RESERVE_BYTES)


def _budget(text: str | None, say: Callable[[str], None]) -> int:
    spare = _spare_bytes()
    if text is None and spare == 0:
        raise UsageError(
            f"warm: found at most {format_bytes(_RESERVE_BYTES)} of available memory, which is left to others",
            fix="--bytes SIZE",
        )
    budget = spare if text is None else _size(text)
    if budget > spare:
        asked = f"{format_bytes(budget)} is more than there is to spare ({format_bytes(spare)})"
        say(f"{asked}: what is read first may be dropped for what follows")
    return budget


def _size(text: str) -> int:
    try:
        return int(BYTES.parse(text))  # type: ignore[call-overload, no-any-return] # a number, by its kind
    except ValueError as error:
        raise UsageError(
            f"--bytes: found '{text}', expected a number with one of {error}", fix='--bytes "8 GiB"'
        ) from error


def _progress(say: Callable[[str], None]) -> Callable[[int, int], None]:
    began = time.monotonic()

    def tell(done: int, total: int) -> None:
        elapsed = time.monotonic() - began
        left = format_seconds(elapsed * (total - done) / done) if done else "unknown"
        say(f"{format_bytes(done)} of {format_bytes(total)}, {left} left")

    return tell
