"""The front door, run inside of a machine of known truth, and what it said. Not a test."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from tests.selftest.truth.groups import entering
from tests.selftest.truth.others import REPOSITORY, with_parent

RATE, MAPPED = "decode.warm_rate", "load.mapped_share"
_BOTTLENECK = re.compile(r"bottleneck=(.+?) \((suspected|confirmed)\): (.*)")
_PATIENCE_SECONDS = 1800  # --depth full takes some 10 minutes
_END_SECONDS = 60
_LOOK_SECONDS = 0.1


@dataclass(frozen=True, kw_only=True)
class Said:
    """What the suite made of a machine: its facts.json, empty where it wrote none."""

    facts: dict
    seconds: float
    output: str

    def word(self, gate):
        """Give a gate's word."""
        return self._verdict(gate).get("word", "nothing")

    def value(self, gate):
        """Give a gate's number; None where there is none."""
        return self._verdict(gate).get("value")

    @property
    def decodes(self):
        """Give the warm runs of decoded tokens that were timed, as facts.json holds them."""
        episodes = self.facts.get("performance", {}).get("episodes", ())
        warm = (episode for episode in episodes if episode["state"] != "cold")
        return [phase for episode in warm for phase in episode["phases"] if phase["name"] == "decode"]

    def bottleneck(self, gate):
        """Give the cause's word, how sure it is and why; dashes where none is named."""
        lines = map(_BOTTLENECK.match, self._verdict(gate).get("evidence", ()))
        return next((found.groups() for found in lines if found), ("-", "-", self._verdict(gate).get("cause", "")))

    def _verdict(self, gate):
        return self.facts.get("outcomes", {}).get(gate, {}).get("verdict", {})


def ask_suite(folder, arguments, *, groups=(), before=(), environment=None):
    """Run a qualification in these groups and wait for it; interrupted, it is ended, and all that it started."""
    report = folder / "report"
    command = [
        *entering(*groups),
        *before,
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
    ]
    command += ["-m", "qualify", "--depth", "quick", "--scratch", folder / "scratch", "--report", report, *arguments]
    began = time.monotonic()
    with (folder / "output").open("w+") as output:
        _run(command, output, environment or {})
        output.seek(0)
        text = output.read()
    facts = report / "facts.json"
    return Said(
        facts=json.loads(facts.read_text()) if facts.exists() else {},
        seconds=time.monotonic() - began,
        output=text,
    )


def _run(command, output, environment):
    process = subprocess.Popen(
        with_parent("TERM", command),
        cwd=REPOSITORY,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)} | environment,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        process.wait(_PATIENCE_SECONDS)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)  # it ends its engine and writes its report
            with suppress(subprocess.TimeoutExpired):
                process.wait(_END_SECONDS)
            process.kill()
            process.wait()


@contextmanager
def watched_memory(group):
    """Watch what a memory group holds that is no page cache; gives a list with the most that was seen, in bytes."""
    most, ended = [0], threading.Event()

    def watch():
        while not ended.wait(_LOOK_SECONDS):
            most[0] = max(most[0], _own_bytes(group))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield most
    finally:
        ended.set()
        thread.join()


def _own_bytes(group):
    stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    return int(stat["total_rss"]) + int((group / "memory.kmem.usage_in_bytes").read_text())
