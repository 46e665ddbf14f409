"""Runs every case through the engine and the gates, judges whether they agree, and prints the table.

``python -m tests.selftest.differential.table [--all]``; exit code 1 when a case disagrees.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from streamworthy.verdict import Word
from tests.selftest.differential.cases import CASES, Case
from tests.selftest.differential.engine_cases import FAILED, REFUSED, RUNS
from tests.selftest.differential.gates import judge, judge_content, word_of
from tests.selftest.differential.model import make_set
from tests.selftest.differential.random_cases import random_cases

ROOT = Path(__file__).parents[3]
show = print  # what this program is for
PROGRAM = Path(__file__).with_name("engine_cases.py")


@dataclass(frozen=True, kw_only=True)
class Row:
    """What the engine and the gates made of one case. ``problem`` is empty where they agree."""

    case: Case
    engine: str
    log: str
    word: Word
    causes: tuple[str, ...]
    content: Word
    manifest: Word
    problem: str


def run_all(folder, cases):
    """Write each case below ``folder``, ask engine and gates, and give the rows."""
    manifest = folder / "SHA256SUMS.txt"
    sums = {shard.name: hashlib.sha256(shard.raw()).hexdigest() for shard in make_set()}
    manifest.write_text("".join(f"{digest}  {name}\n" for name, digest in sums.items()))
    judged = []
    for number, case in enumerate(cases):
        place = folder / str(number)
        place.mkdir()
        case.write(place)
        path = place / case.given
        found, first = judge(path, case.handles)
        contents = [judge_content(path, one, folder / "cache") for one in (None, manifest)]
        judged.append((case, found, first, contents, _differs(place, sums)))
    endings = ask_engine([[str(first), case.handles] for case, _, first, *_ in judged])
    return [_row(*one, ending) for one, ending in zip(judged, endings, strict=True)]


def ask_engine(cases):
    """Give (exit status, log) of each case."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM)],
        input=json.dumps(cases),
        env=os.environ | {"GGML_NO_BACKTRACE": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-800:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def _differs(place, sums):
    """Tell whether a file under a shard's name is not as the manifest says, or is not there."""
    return any(
        not (place / name).is_file() or hashlib.sha256((place / name).read_bytes()).hexdigest() != digest
        for name, digest in sums.items()
    )


def _row(case, found, _first, contents, differs, ending):
    word, causes = word_of(found)
    content, manifest = (one.word for one in contents)
    engine = _ending(ending[0])
    return Row(
        case=case,
        engine=engine,
        log=_last(ending[1]),
        word=word,
        causes=causes,
        content=content,
        manifest=manifest,
        problem=_problem(case, engine, word, causes, content=content, manifest=manifest, differs=differs),
    )


def _ending(status):
    known = {RUNS: "runs", REFUSED: "refuses", FAILED: "no logits"}
    if status in known:
        return known[status]
    return f"dies: {signal.Signals(-status).name}" if status < 0 else f"dies: exit status {status}"


def _last(log):
    lines = [
        line for line in log.splitlines() if re.search(r"error loading model:|GGML_ASSERT|what\(\)|^engine:", line)
    ]
    lines = lines or [line for line in log.splitlines() if "failed" in line]
    return re.sub(r"/\S*/(?=\S)", "", lines[0].split("error loading model: ")[-1]) if lines else ""


def _problem(case, engine, word, causes, *, content, manifest, differs):  # noqa: PLR0911 - a line for each rule
    if content is not Word.ERROR:
        return f"without a manifest the content is {content}, expected error"
    if differs and manifest is Word.PASS:
        return "wrong bytes pass the manifest"
    if not differs and word is Word.PASS and manifest is not Word.PASS:
        return f"right bytes are {manifest} by the manifest"
    if engine == "runs":
        if word is Word.PASS:
            return "" if not case.because or case.family == "random" else "passes, and a reason to fail is stated"
        return "" if case.because and re.search(case.says, "; ".join(causes)) else "the engine runs it"
    if word is Word.PASS:
        told = case.engine_only or (manifest is Word.FAIL and engine == "no logits")
        return "" if told else f"the engine {engine}"
    named = case.family == "random" or re.search(case.says, "; ".join(causes))
    return "" if named else f"no cause names {case.says!r}"


def print_table(rows, *, everything):
    """Print disagreements, stated exceptions and counts; all rows when asked."""
    for row in rows:
        if everything or row.problem:
            show(f"{'!!' if row.problem else 'ok'} {row.case.family}: {row.case.name}")
            show(f"   engine {row.engine}{': ' + row.log if row.log else ''}")
            show(f"   gates  {row.word}{': ' + '; '.join(row.causes) if row.causes else ''}"[:400].replace("\0", "\\0"))
            if row.problem:
                show(f"   {row.problem}")
    exceptions = Counter(row.case.because for row in rows if row.case.because and row.engine == "runs")
    show("\nloaded by the engine, failed here, and why:")
    for reason, count in exceptions.items():
        show(f"  {count:4}  {reason}")
    for row in rows:
        if row.case.engine_only:
            show(f"  only the engine tells: {row.case.name}: {row.case.engine_only}")
    show(f"\n{'family':20} {'engine':24} {'gates':6} {'cases':>5}")
    for (family, engine, word), count in sorted(Counter((r.case.family, r.engine, r.word) for r in rows).items()):
        show(f"{family:20} {engine:24} {word:6} {count:5}")
    wrong = sum(bool(row.problem) for row in rows)
    show(f"{len(rows)} sets, {wrong} disagreements")
    return wrong


def main():
    """Run all cases and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.selftest.differential.table", description=__doc__)
    parser.add_argument("--all", action="store_true", help="print every case, not only disagreements")
    parser.add_argument("--only", default="", help="cases whose name holds this pattern")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="instead: so many random changes of headers")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    cases = [case for name, case in CASES.items() if re.search(arguments.only, name)]
    if arguments.random:
        cases = list(random_cases(arguments.random, arguments.seed))
    with tempfile.TemporaryDirectory(prefix="differential-") as folder:
        return 1 if print_table(run_all(Path(folder), cases), everything=arguments.all) else 0


if __name__ == "__main__":
    sys.exit(main())
