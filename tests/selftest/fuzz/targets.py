"""What can be fuzzed: each target has seeds, a way to change them, and a call that may raise only what it says."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from streamworthy.criteria.health import judge_health
from streamworthy.facts.drives import DriveHealth
from streamworthy.probes.health import parse_health_log
from tests.selftest.fuzz import gguf_target, text_targets
from tests.selftest.fuzz.mutate import change_bytes, change_text
from tests.selftest.probes.health_log import health_log

if TYPE_CHECKING:
    from collections.abc import Callable

CORPUS = Path(__file__).with_name("corpus")


@dataclass(frozen=True)
class Target:
    """``seeds`` are what is changed; ``run`` takes an input and raises ``expected`` at most."""

    name: str
    seeds: tuple
    change: Callable
    run: Callable
    expected: tuple


def load_targets(scratch):
    """Give all targets; ``scratch`` is a folder for those that read files."""
    headers = tuple(path.read_bytes() for path in sorted((CORPUS / "header").iterdir()))
    found = [
        Target("header", headers, change_bytes, gguf_target.run_header, ()),
        Target("model", headers, change_bytes, gguf_target.run_model, gguf_target.EXPECTED),
    ]
    logs = (health_log(), health_log(warning=63, spare=3, used=200, media_errors=7))
    found.append(Target("health-log", logs, change_bytes, _run_health, text_targets.EXPECTED))
    for name, run in text_targets.PARSERS.items():
        found.append(Target(name, seeds_of(name), change_text, run, text_targets.EXPECTED))
    for name, (file, ask) in text_targets.FILES.items():
        run = partial(_run_file, scratch, file, ask)
        found.append(Target(name, seeds_of(name), change_text, run, text_targets.EXPECTED))
    found.append(Target("process", seeds_of("maps"), change_text, text_targets.run_process, text_targets.EXPECTED))
    files = tuple(text_targets.machine_files())
    answers = tuple(file for file in files if file[1] == "machine.toml")
    found.append(Target("machine", files, _change_machine, _run_machine, ()))
    found.append(Target("machine.toml", answers, _change_machine, _run_machine, ()))
    return {target.name: target for target in found}


def _run_health(raw):
    log = parse_health_log(raw.ljust(512, b"\0")[:512])  # a drive always fills the page
    judge_health(DriveHealth(name="nvme0n1", log=log, unknown=""), 0.9)
    parse_health_log(raw)


def seeds_of(name):
    """Read the corpus of a text target."""
    return tuple(path.read_bytes().decode("utf-8", "surrogateescape") for path in sorted((CORPUS / name).iterdir()))


def _run_file(scratch, file, ask, text):
    text_targets.run_file(scratch, file, text, ask)


def _change_machine(rng, seed, other):
    folder, name = seed
    if isinstance(name, tuple):
        return seed
    text = (text_targets.MACHINES / folder / name).read_bytes().decode("utf-8", "surrogateescape")
    spare = (text_targets.MACHINES / other[0] / other[1]).read_bytes().decode("utf-8", "surrogateescape")
    return folder, name, change_text(rng, text, spare)


def _run_machine(changed):
    text_targets.run_machine(*changed)
