"""Runs commands in a world and reads back what they say. Not a test."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from streamworthy.sample.stored import manifest_path
from tests.selftest.face.running import ROOT, Run, command, read_report
from tests.selftest.filesystems.ground import SPEC

ENTER = Path(__file__).with_name("enter.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A folder that all may enter, root's shards in it, and the tier."""

    folder: Path
    model: Path
    tier: Path

    def rooms(self, world):
        """Give folders for the home and for what is written, as the world has them."""
        home, out = self.folder / "home", self.folder / "out"
        for room in (home, out):
            shutil.rmtree(room, ignore_errors=True)
            room.mkdir()
            room.chmod(0o777)
        if world is not None and world.home == "closed":
            home.chmod(0o555)
        return home, out


def enter(stage, world, line, *, timeout=300):
    """Run a command line in a world, or as root in this one (None)."""
    home, _ = stage.rooms(world)
    environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(home)}
    if world is not None:
        if world.home == "unset":
            del environment["HOME"]
        line = [
            "unshare",
            "--mount",
            "--propagation",
            "private",
            sys.executable,
            str(ENTER),
            _spec(stage, world),
            *line,
        ]
    return subprocess.run(
        list(map(str, line)), cwd=ROOT, env=environment, capture_output=True, text=True, timeout=timeout, check=False
    )


def _spec(stage, world):
    needed = (sys.executable, os.path.realpath(sys.executable), sys.prefix, sys.base_prefix, ROOT, stage.folder)
    ways = [str(Path(path) / "x" if Path(path).is_dir() else path) for path in needed]
    fields = {name: getattr(world, name) for name in ("mounts", "uid", "namespace", "denied")}
    return json.dumps({**fields, "open": ways})


def verdicts(stage, world, *arguments, timeout=300):
    """Ask the gates of host and model, or others, of the stage's model."""
    asked = arguments or ("tests/gates/host", "tests/gates/model")
    given = ("--model", stage.model, "--sha256", manifest_path(stage.model.parent, SPEC), "--tier", stage.tier)
    report = stage.folder / "out" / "report"
    done = enter(stage, world, command(*asked, *given, "--report", report), timeout=timeout)
    suite, cases = read_report(report / "junit.xml") if (report / "junit.xml").exists() else ({}, {})
    return Run(exit_code=done.returncode, screen=done.stdout + done.stderr, suite=suite, cases=cases)
