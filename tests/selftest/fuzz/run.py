"""Fuzzes the header reader and every text parser: ``python -m tests.selftest.fuzz.run --seconds N --processes 2``.

Prints executions, their rate, findings, and which branches of the reader its corpus reaches. Exit code 1 with findings.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import sys
import tempfile
import time
import traceback
from pathlib import Path

from tests.selftest.fuzz.branches import print_branches
from tests.selftest.fuzz.targets import load_targets

show = print  # what this program is for
ROUND = 500  # executions between two looks at the clock
MOST_FINDINGS = 20
SLOW_SECONDS = 0.5  # no input here is larger than a few hundred kilobytes


def fuzz(target, rng, end):
    """Run one target until the moment ``end``; give executions, findings (input, error) and the longest execution."""
    count, findings, longest = 0, [], 0.0
    while time.monotonic() < end and len(findings) < MOST_FINDINGS:
        began = time.process_time()
        for _ in range(10 if target.name.startswith("machine") else ROUND):
            changed = target.change(rng, rng.choice(target.seeds), rng.choice(target.seeds))
            count += 1
            try:
                target.run(changed)
            except target.expected:
                pass
            except Exception as error:  # noqa: BLE001 - any other is a finding
                findings.append((changed, _place(error), str(error)))
        longest = max(longest, time.process_time() - began)
    return count, findings, longest


def _place(error):
    """Name an error by its kind and the last lines of code on its way: the same for all inputs that find it."""
    steps = traceback.extract_tb(error.__traceback__)[-3:]
    way = " < ".join(f"{Path(step.filename).name}:{step.lineno} {step.line}" for step in reversed(steps))
    return f"{type(error).__name__} at {way}"


def _work(job):
    name, seed, seconds = job
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:  # noqa: S108
        target = load_targets(Path(folder))[name]
        began = time.monotonic()
        count, findings, longest = fuzz(target, random.Random(seed), began + seconds)  # noqa: S311
        return name, count, findings, longest, time.monotonic() - began


def run(names, seconds, processes, seed):
    """Fuzz the named targets, the time shared equally; print a line for each and give the findings."""
    jobs = [(name, f"{seed}.{part}.{name}", seconds / len(names)) for name in names for part in range(processes)]
    totals, findings = {}, []
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        for name, count, found, longest, took in pool.imap_unordered(_work, jobs):
            before = totals.get(name, (0, 0, 0.0, 0.0))
            totals[name] = (
                before[0] + count,
                before[1] + len(found),
                max(before[2], longest),
                before[3] + took / processes,
            )
            findings += [(name, *finding) for finding in found]
    for name, (count, wrong, longest, took) in totals.items():
        show(
            f"{name:14} {count:12,} executions {count / took:10,.0f}/s  slowest round {longest:.2f} s  {wrong} findings"
        )
    show(f"{'all':14} {sum(total[0] for total in totals.values()):12,} executions, {len(findings)} findings")
    return findings


def main():
    """Read the command line, fuzz, print."""
    parser = argparse.ArgumentParser(prog="python -m tests.selftest.fuzz.run", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="for all targets together")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--target", action="append", help="one of them; may be given again; default: all")
    parser.add_argument("--seed", default=str(os.getpid()))
    parser.add_argument("--no-branches", action="store_true")
    arguments = parser.parse_args()
    names = arguments.target or list(load_targets(Path(tempfile.gettempdir())))
    findings = run(names, arguments.seconds, arguments.processes, arguments.seed)
    for (name, place), (changed, error) in {(found[0], found[2]): (found[1], found[3]) for found in findings}.items():
        show(f"--- {name}: {place}", error[:200], repr(changed)[:1000], sep="\n")
    if not arguments.no_branches:
        print_branches()
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
