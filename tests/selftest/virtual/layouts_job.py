"""In the virtual machine: builds each layout, asks every gate of storage, and tells the verdicts.

``python -m tests.selftest.virtual.layouts_job SAMPLE LAYOUT...``; SAMPLE is a folder with real shards and their hashes.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from streamworthy.sample.stored import manifest_path
from tests.gates.host import test_storage as host_gates
from tests.selftest.filesystems.gates import judge, map_of
from tests.selftest.filesystems.ground import SPEC
from tests.selftest.virtual.layouts import BEGIN, LAYOUTS, MOUNT
from tests.selftest.virtual.telling import shell, telling


def _place(sample):
    """Copy the shards to what is mounted; gives the first one."""
    folder = MOUNT / "models"
    folder.mkdir()
    for shard in sorted(sample.glob("*.gguf")):
        with shard.open("rb") as source, (folder / shard.name).open("wb") as target:
            shutil.copyfileobj(source, target)
            target.flush()
            os.fsync(target.fileno())
    return min(folder.iterdir())


def _find(layout, sample):
    MOUNT.mkdir(exist_ok=True)
    try:
        shell(layout.up)
        path = min(MOUNT.glob("*.gguf")) if layout.filled else _place(sample)
        found = judge(path, manifest_path(sample, SPEC), (host_gates,))
        verdicts = {
            gate: {"word": one.word, "measured": one.measured, "cause": one.cause, "fix": list(one.fix)}
            for gate, one in found.items()
        }
        return {"layout": layout.name, "verdicts": verdicts, "map": map_of(path)}
    except Exception as error:  # noqa: BLE001 - told to whoever waits for the line
        return {"layout": layout.name, "problem": f"{type(error).__name__}: {error}"}
    finally:
        shell(f"umount -R {MOUNT} || true; {layout.down}", check=False)


def main(sample, *names):
    """Build and ask one after the other."""
    os.environ |= {"DM_DISABLE_UDEV": "1", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    with telling() as tell:
        shell(BEGIN)
        for name in names:
            tell(_find(LAYOUTS[name], Path(sample)))


if __name__ == "__main__":
    main(*sys.argv[1:])
