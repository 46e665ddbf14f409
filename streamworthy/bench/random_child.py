"""A process of its own for random reads: one interpreter lock is not enough for 32 short reads in flight."""

from __future__ import annotations

import random
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from streamworthy.bench.direct_reads import ALIGNMENT_BYTES, Piece, open_direct, read_pieces
from streamworthy.children import child_environment, module_command
from streamworthy.errors import ProbeError

if TYPE_CHECKING:
    from collections.abc import Sequence

PROCESSES = 2
THREADS = 16
_MOST_READS = 200_000
_WAIT_SECONDS = 30.0


def random_pieces(paths: Sequence[Path], count: int, chooser: random.Random) -> list[Piece]:
    """Choose 4 KiB places of the files, each byte of them as likely as another."""
    sizes = [path.stat().st_size // ALIGNMENT_BYTES for path in paths]
    chosen = chooser.choices(range(len(paths)), weights=sizes, k=count)
    return [
        Piece(
            path=paths[number],
            offset_bytes=chooser.randrange(sizes[number]) * ALIGNMENT_BYTES,
            size_bytes=ALIGNMENT_BYTES,
        )
        for number in chosen
    ]


def measure_many(paths: Sequence[Path], budget_seconds: float) -> float:
    """Give reads a second at 32 in flight, from two processes. ProbeError when one of them says nothing."""
    command = module_command("streamworthy.bench.random_child", budget_seconds, *paths)
    with ExitStack() as stack:
        children = [stack.enter_context(_child(command)) for _ in range(PROCESSES)]
        stack.callback(_end, children)
        for child in children:
            _line(child)  # it is ready
        answers = [_go(child) for child in children]
        return sum(float(_line(child)) for child in answers)


def _child(command: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=child_environment(),
        text=True,
        start_new_session=True,  # Ctrl-C is for the parent, which then ends the child
    )


def _end(children: Sequence[subprocess.Popen[str]]) -> None:
    for child in children:
        child.kill()


def _go(child: subprocess.Popen[str]) -> subprocess.Popen[str]:
    assert child.stdin is not None  # noqa: S101 - for the type checker: it is a pipe
    child.stdin.write("go\n")
    child.stdin.flush()
    return child


def _line(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None  # noqa: S101 - for the type checker: it is a pipe
    line = child.stdout.readline()
    if not line:
        raise ProbeError(f"random reads: a reading process ended with {child.wait(_WAIT_SECONDS)} and said nothing")
    return line


def main(arguments: Sequence[str]) -> None:
    """Say that all is ready, wait for a line, read for the given seconds, and say how many reads a second."""
    budget, paths = float(arguments[0]), [Path(path) for path in arguments[1:]]
    pieces = random_pieces(paths, _MOST_READS, random.Random())  # noqa: S311 - places, not secrets
    with open_direct(paths) as opened:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        if sys.stdin.readline():
            done = read_pieces(opened, pieces, depth=THREADS, budget_seconds=budget)
            sys.stdout.write(f"{done.pieces_count / done.seconds}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
