"""A file without a name to measure a disk with."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from streamworthy.bench.residency import residency
from streamworthy.bench.scratch_file import ScratchFile
from streamworthy.errors import ProbeError
from tests.selftest.bench.disk_file import make_disk_file

SIZE = 64 * 2**20
HOLD = """
import sys, time
from pathlib import Path
from streamworthy.bench.scratch_file import ScratchFile
file = ScratchFile(Path(sys.argv[1]), size_bytes=64 * 2**20)
print(file.path, flush=True)
time.sleep(60)
"""


def test_it_is_allocated_incompressible_cold_and_nameless(tmp_path):
    """Its blocks differ from one another, and it is gone once it is let go."""
    make_disk_file(tmp_path, "probe").unlink()
    file = ScratchFile(tmp_path, size_bytes=SIZE)
    try:
        assert list(tmp_path.iterdir()) == []
        assert (file.path.stat().st_size, file.path.stat().st_blocks * 512 >= SIZE) == (SIZE, True)
        assert residency([file.path]).share < 0.01
        content = file.path.read_bytes()
        assert len(zlib.compress(content[: 2**20], 1)) > 2**20
        assert len({content[place : place + 4096] for place in range(0, SIZE, 4096)}) == SIZE // 4096
    finally:
        file.close()
    assert not file.path.exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_it_goes_with_its_process_however_that_ends(number, tmp_path):
    """Nothing has to be removed, so nothing can be left."""
    before = os.statvfs(tmp_path).f_bfree
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, tmp_path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as child:
        path = Path(child.stdout.readline().strip())
        assert path.stat().st_size == SIZE
        child.send_signal(number)
    assert list(tmp_path.iterdir()) == []
    assert not path.exists()
    assert before > 0


def test_too_little_room_is_an_error_before_anything_is_written(tmp_path):
    """Twice its size has to be free."""
    with pytest.raises(ProbeError, match=r"free, expected 2048\.0 TiB for a scratch file of 1024\.0 TiB"):
        ScratchFile(tmp_path, size_bytes=2**50)
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_takes_no_more_is_an_error(tmp_path):
    """The space is asked for before it is written to."""
    code = (
        "import sys\nfrom pathlib import Path\nfrom streamworthy.bench.scratch_file import ScratchFile\n"
        "ScratchFile(Path(sys.argv[1]), size_bytes=2**26)"
    )
    done = subprocess.run(
        ["prlimit", "--fsize=1048576", sys.executable, "-c", code, tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "a scratch file cannot be written: File too large" in done.stderr
    assert list(tmp_path.iterdir()) == []
