"""A process that reads files past the page cache until its standard input ends: what a neighbour does to a disk."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from streamworthy.bench.direct_reads import open_direct, read_pieces
from streamworthy.bench.places import stretches

if TYPE_CHECKING:
    from collections.abc import Sequence

_DEPTH = 1  # eight of 1 MiB left an engine that faults one slab at a time a hundredth of its speed
_ROUND_BYTES = 256 * 2**20
_ROUND_SECONDS = 60.0


def _read_for_ever(paths: Sequence[Path]) -> None:
    chooser = Random()  # noqa: S311 - places, not secrets
    with open_direct(paths) as opened:
        while True:
            (pieces,) = stretches(paths, 1, _ROUND_BYTES, chooser)
            read_pieces(opened, pieces, depth=_DEPTH, budget_seconds=_ROUND_SECONDS)
            sys.stdout.write("read\n")
            sys.stdout.flush()


def main(arguments: Sequence[str]) -> None:
    """Say a line after each round; end with standard input, so that nothing reads on when the parent has died."""
    paths = [Path(path) for path in arguments]
    threading.Thread(target=_read_for_ever, args=(paths,), daemon=True).start()
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
