"""The command ``streamworthy capture``: writes this machine as a folder that can be judged anywhere."""

from __future__ import annotations

import os
import re
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamworthy import __version__
from streamworthy.capture.answers import answers_of, format_answers
from streamworthy.capture.comparison import differing, learn
from streamworthy.capture.known_names import make_scrubber
from streamworthy.capture.recorder import RecordingSysroot
from streamworthy.capture.tree import write_tree
from streamworthy.errors import ProbeError, UsageError
from streamworthy.facts.plan import PLAIN_PLAN
from streamworthy.probes.machine import Machine
from streamworthy.probes.sysroot import Sysroot
from streamworthy.units import format_bytes

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from streamworthy.capture.scrubber import Scrubber
    from streamworthy.capture.tree import Written

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}")
_ASSUMED_SET_BYTES = 390 * 10**9  # a 744B-class MoE at about 4.3 bits, for which the laptop tiers are written


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "capture",
        help="write this machine as text that can be judged anywhere",
        description="Writes what the probes read, without names and serial numbers. Exit: 0 if it reads back the same.",
    )
    parser.add_argument("name", metavar="NAME", help="what the captured machine is called")
    add = parser.add_argument
    add("--model", type=Path, metavar="PATH", help="any shard, or its folder (default: a set yet to come, here)")
    add("--output", type=Path, default=Path(), metavar="DIR", help="where the folder NAME is made (default: here)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, say: Callable[[str], None]) -> int:
    """Capture, check that it reads back the same, and say what is in it; UsageError for a name that cannot be used."""
    folder = _target(arguments.name, arguments.output)
    recorded = RecordingSysroot()
    return capture(recorded, _machine(recorded, arguments.model, say), folder, say)


def _target(name: str, output: Path) -> Path:
    if sys.platform != "linux":
        raise UsageError(
            f"capture: found {sys.platform}, expected Linux", fix="run it on a machine with /proc and /sys"
        )
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r}: found other characters, expected letters, digits, '.', '_', '-'", fix="lab-01")
    if (output / name).exists():
        raise UsageError(f"{output / name}: is there already", fix="choose another name, or remove it")
    return output / name


def _machine(root: Sysroot, model: Path | None, say: Callable[[str], None]) -> Machine:
    if model is None:
        say(f"no --model: a set of {format_bytes(_ASSUMED_SET_BYTES)} to come in {Path.cwd()} is assumed")
        return Machine(root, plan=PLAIN_PLAN, folder=Path.cwd(), set_total_bytes=lambda: _ASSUMED_SET_BYTES)
    from streamworthy.gguf.subject import Subject

    subject = Subject(model)
    paths = subject.paths  # a path that is no model ends here

    def total() -> int:
        try:
            return subject.set_total_bytes or sum(path.stat().st_size for path in paths)
        except ProbeError:  # the captured machine is judged, not its model
            return sum(path.stat().st_size for path in paths)

    return Machine(root, plan=PLAIN_PLAN, model_paths=paths, set_total_bytes=total)


def capture(recorded: RecordingSysroot, machine: Machine, folder: Path, say: Callable[[str], None]) -> int:
    """Ask a machine everything through its recording door and write that to ``folder``; gives the exit code."""
    facts = learn(machine)
    scrubber = make_scrubber(recorded)
    partial = folder.with_name(f".{folder.name}.partial")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        written = write_tree(partial, recorded, scrubber)
        answers = answers_of(recorded, written.left_out)
        (partial / "machine.toml").write_text(
            format_answers({**_source(folder.name), **scrubber.answer(answers)}), encoding="utf-8"
        )
        different = differing(facts, learn(Machine(Sysroot(partial), plan=PLAIN_PLAN)), scrubber)
        partial.rename(folder)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error.strerror}", fix="give --output DIR") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    for line in _summary(folder, written, answers, scrubber):
        say(line)
    for place in different:
        say(f"reads back differently: {place}")
    say(f"judge it anywhere: pytest -m qualify --sysroot {folder}")
    return 1 if different else 0


def _source(name: str) -> dict[str, dict[str, str]]:
    by = "root" if os.geteuid() == 0 else "an ordinary user"
    return {
        "source": {
            "name": name,
            "kind": "captured",
            "from": f"streamworthy {__version__} capture, as {by}, {datetime.now(UTC):%Y-%m-%d}",
            "kernel": os.uname().release,
        },
        "identity": {"hostname": name},
    }


def _summary(folder: Path, written: Written, answers: dict[str, Any], scrubber: Scrubber) -> Iterator[str]:
    for refused in answers.get("unreadable", ()):
        yield f"not read: /{refused['path']}: {refused['reason']}"
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    yield f"captured: {folder}, {written.file_count + 1} files and {written.link_count} links, {format_bytes(size)}"
    stand_ins = ", ".join(f"{count} {kind}" for kind, count in scrubber.counts().items()) or "nothing"
    yield f"stand-ins for: {stand_ins}. Look through the folder before you send it."
