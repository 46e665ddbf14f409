"""Mounts every filesystem, asks every gate about the shards on it, and prints the words: ``make filesystems``.

Exit code 1 when a gate does not tell the truth of truth.py, 2 when nothing could be mounted.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest

from tests.selftest.filesystems.ground import find, find_ground
from tests.selftest.filesystems.mounts import need_root
from tests.selftest.filesystems.truth import TRUTH

show = print  # what this program is for


def main():
    """Print a line for each layout and what is wrong of it below; gives the exit code."""
    nouns = [gate.partition(".")[2] for gate in TRUTH[0].words]
    show(f"{'layout':<20}{' '.join(f'{noun[:13]:<13}' for noun in (*nouns, 'map'))}")
    code = 0
    with tempfile.TemporaryDirectory(prefix="streamworthy-filesystems-") as folder, find_ground(Path(folder)) as ground:
        for row in TRUTH:
            try:
                found, mapped, wrong = find(ground, row)
            except pytest.skip.Exception as reason:
                show(f"{row.name:<20}skipped: {reason}")
                continue
            show(f"{row.name:<20}{' '.join(f'{word:<13}' for word in (*(one.word for one in found.values()), mapped))}")
            for line in wrong:
                show(f"  WRONG {line}")
                code = 1
    return code


if __name__ == "__main__":
    try:
        need_root()
    except pytest.skip.Exception as reason:
        show(reason)
        sys.exit(2)
    sys.exit(main())
