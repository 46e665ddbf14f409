"""What a job in the virtual machine has in common: shell, and lines of JSON to whoever started the machine."""

from __future__ import annotations

import json
import subprocess
from contextlib import contextmanager
from pathlib import Path

_TOLD = "/dev/ttyS1"
_PATIENCE_SECONDS = 120
END = "END"


@contextmanager
def telling():
    """Give a function that writes one record; the last line says that none is missing."""
    with Path(_TOLD).open("w", encoding="utf-8") as told:

        def tell(record):
            told.write(json.dumps(record) + "\n")
            told.flush()

        yield tell
        told.write(f"{END}\n")


def shell(script, *, check=True):
    """Run lines of shell and give what they wrote; RuntimeError with that when one fails."""
    done = subprocess.run(
        ["sh", "-exc", script], capture_output=True, text=True, check=False, timeout=_PATIENCE_SECONDS
    )
    if check and done.returncode:
        raise RuntimeError(f"{done.stdout[-500:]}{done.stderr[-1500:]}")
    return done.stdout
