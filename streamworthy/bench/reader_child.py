"""A process that reads files past the page cache until its standard input ends: what a neighbour does to a disk."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from streamworthy.bench.direct_reads import open_direct, read_pieces
from streamworthy.bench.places import stretches

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROUND_BYTES = 256 * 2**20
_READ_SECONDS = 60.0


def _read_for_ever(paths: Sequence[Path]) -> None:
    """Read a piece, then rest for as long as that took: half of a drive's time, however slow it is.

    Without rests, reads of 1 MiB leave an engine that faults one slab at a time 5 % of its speed where a limit holds
    the drive, and 1 % where there are eight of them.
    """
    chooser, told = Random(), False  # noqa: S311 - places, not secrets
    with open_direct(paths) as opened:
        while True:
            (pieces,) = stretches(paths, 1, _ROUND_BYTES, chooser)
            for piece in pieces:
                done = read_pieces(opened, (piece,), depth=1, budget_seconds=_READ_SECONDS)
                if not told:
                    sys.stdout.write("reading\n")
                    sys.stdout.flush()
                    told = True
                time.sleep(done.seconds)


def main(arguments: Sequence[str]) -> None:
    """Say one line after the first read; end with standard input, so that nothing reads on when the parent has died."""
    paths = [Path(path) for path in arguments]
    threading.Thread(target=_read_for_ever, args=(paths,), daemon=True).start()
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
