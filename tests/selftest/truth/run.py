"""Makes machines of known truth, runs the suite on each, and prints whether it named the cause.

``python -m tests.selftest.truth.run --size 1.4GB --seed 1 [--only NAME] [--json FILE] [--healthy 20]``; needs root and
version 1 control groups. A seed changes the sample's weights and the order of the machines. Exit code 1 when a cause is
wrong, or when a healthy run failed.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import signal
import sys
import tempfile
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

from streamworthy.units import BYTES
from tests.selftest.truth.beside import wait_until_quiet
from tests.selftest.truth.groups import control_group, has_hierarchy
from tests.selftest.truth.machines import MACHINES, Lab, Setup
from tests.selftest.truth.suite import RATE, ask_suite, watched_memory
from tests.selftest.truth.table import Row, print_end, print_head, print_row, show
from tests.selftest.truth.tier import ENOUGH, LIMITED, write_tier
from tests.selftest.truth.undo import ENDINGS, Undo
from tests.selftest.truth.volume import sample_volume

_TOOLS = ("losetup", "mkfs.ext4", "mount", "setpriv", "taskset")
_JUDGED = ("-k", "warm_rate or mapped_share")
_ALL = ("tests/gates/performance",)
_NO_ALARM = ("pass", "advice", "n/a", "inconclusive")


def lacks():
    """Say what is missing here to make any machine; "" when nothing is."""
    if not has_hierarchy("memory"):
        return "needs root and the version 1 memory hierarchy"
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    return f"needs {', '.join(missing)}" if missing else ""


@contextmanager
def made_lab(scratch, size_bytes, seed, patience_seconds):
    """Make the disk and the sample, and learn what suite and engine take of memory beside the page cache."""
    with Undo() as undo:
        folder = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="streamworthy-truth-", dir=scratch)))
        wait_until_quiet(patience_seconds)
        lab = Lab(volume=undo.enter_context(sample_volume(folder, size_bytes, seed)), folder=folder, base_bytes=0)
        with Undo() as learned:
            group = learned.enter_context(control_group("memory"))
            with watched_memory(group) as most:  # a thread, which would hear what is blocked while it is undone
                said = ask(lab, Setup(groups=(group,)), {}, (*_JUDGED, "--disturb"))  # a number is wanted
        assert said.value(RATE), said.output
        yield Lab(volume=lab.volume, folder=folder, base_bytes=most[0]), {RATE: said.value(RATE)}


def ask(lab, setup, healthy, options):
    """Run the suite on a machine, with evicted shards: pages that another group paid for would be free."""
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=lab.folder))
    asked = {gate: setup.times * value for gate, value in healthy.items()}
    tier = write_tier(folder / "truth.toml", asked, **setup.plan)
    lab.volume.evict()
    return ask_suite(
        folder,
        ["--model", lab.volume.shards[0], "--tier", tier, *options, *setup.options],
        groups=setup.groups,
        before=setup.before,
        environment=setup.environment,
    )


def run_machines(scratch, size_bytes, seed, machines, *, options, patience_seconds, again=False, confirm=False):
    """Make each machine in turn, when nobody else is on this one, and give its row; of one made again, the second."""
    order = list(machines)
    random.Random(seed).shuffle(order)  # noqa: S311 - no secret
    with made_lab(scratch, size_bytes, seed, patience_seconds) as (lab, healthy):
        show(
            f"\nsample of {size_bytes / 1e9:.1f} GB, seed {seed}: healthy {healthy[RATE]:.1f} tok/s, "
            f"{lab.base_bytes / 1e6:.0f} MB beside the weights; at least {healthy[RATE] * ENOUGH:.1f} tok/s required"
        )
        print_head()
        for machine in order:
            if machine.lacks:
                show(f"{machine.name:31} skipped: {machine.lacks}")
                continue
            for _ in range(1 + again):
                wait_until_quiet(patience_seconds)
                with Undo() as undo:
                    said = ask(lab, machine.make(lab, undo), healthy, (*_JUDGED, *options))
                row = Row(machine=machine, size_bytes=size_bytes, seed=seed, said=said, confirm=confirm)
                print_row(row)
                if not row.problem:
                    break
            yield row


def run_healthy(scratch, size_bytes, seed, count, patience_seconds):
    """Ask every performance gate of the healthy machine so many times; gives the count of each gate's words."""
    words = Counter()
    with made_lab(scratch, size_bytes, seed, patience_seconds) as (lab, _):
        first = ask(lab, Setup(), {}, _ALL)
        healthy = {gate: first.value(gate) for gate in LIMITED}
        show(f"\nhealthy, {size_bytes / 1e9:.1f} GB, seed {seed}: {healthy}")
        for number in range(count):
            wait_until_quiet(patience_seconds)
            said = ask(lab, Setup(), healthy, _ALL)
            found = {gate: said.word(gate) for gate in said.facts.get("outcomes", {"qualification.setup": {}})}
            words.update(found.items())
            alarms = {gate: word for gate, word in found.items() if word not in _NO_ALARM}
            show(f"run {number + 1} of {count}, {said.seconds:.0f} s: {alarms or 'no alarm'}", flush=True)
    for (gate, word), times in sorted(words.items()):
        show(f"{gate:24} {word:13} {times}")
    return words


def _end_in_order():
    """Let every way of being ended undo what was done to this machine, once."""

    def end(number, _):
        for each in ENDINGS:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt(signal.Signals(number).name)

    for each in ENDINGS:
        if each is not signal.SIGHUP or signal.getsignal(each) is not signal.SIG_IGN:  # nohup asks to be left alone
            signal.signal(each, end)


def _arguments(arguments):
    parser = argparse.ArgumentParser(prog="python -m tests.selftest.truth.run", description=__doc__)
    add = parser.add_argument
    add("--size", action="append", metavar="SIZE", help="of the sample; several may be given (default: 1.4GB)")
    add("--seed", action="append", type=int, metavar="N", help="several may be given (default: 1)")
    add("--only", default="", metavar="PATTERN", help="machines whose name holds this pattern")
    add("--json", type=Path, metavar="FILE", help="keep everything that was learned")
    add("--healthy", type=int, metavar="N", help="instead: every performance gate, N times on the healthy machine")
    add("--scratch", type=Path, metavar="DIR", help="folder on a disk, for the sample (default: the temporary folder)")
    add(
        "--again", action="store_true", help="make a machine once more whose cause was wrong: for one that others share"
    )
    add(
        "--confirm",
        action="store_true",
        help="at --depth full, machines whose cause can be shown by a change: it has to be; some 5 minutes each",
    )
    add("--disturb", action="store_true", help="measure beside others, on a machine that is never quiet")
    add("--patience", type=float, default=60.0, metavar="SECONDS", help="to wait for others before each machine")
    return parser.parse_args(arguments)


def main(arguments=None):
    """Run what was asked; gives the exit code."""
    asked = _arguments(arguments)
    if lacks():
        show(f"skipped: {lacks()}")
        return 0
    _end_in_order()
    runs = [(int(BYTES.parse(size)), seed) for size in asked.size or ["1.4GB"] for seed in asked.seed or [1]]
    if asked.healthy:
        words = sum((run_healthy(asked.scratch, *run, asked.healthy, asked.patience) for run in runs), Counter())
        return int(any(word not in _NO_ALARM for _, word in words))
    machines = [machine for name, machine in MACHINES.items() if re.search(asked.only, name)]
    options, rows = ("--disturb",) if asked.disturb else (), []
    if asked.confirm:
        options += ("--depth", "full")
        machines = [machine for machine in machines if machine.shows]
    for run in runs:
        for row in run_machines(
            asked.scratch,
            *run,
            machines,
            options=options,
            patience_seconds=asked.patience,
            again=asked.again,
            confirm=asked.confirm,
        ):
            rows.append(row)
            if asked.json:
                asked.json.write_text(json.dumps([each.record for each in rows], indent=1))
    return int(print_end(rows) > 0)


def _run():
    try:
        return main()
    except KeyboardInterrupt as told:
        show(f"interrupted ({told}): everything is undone")
        return 2


if __name__ == "__main__":
    sys.exit(_run())
