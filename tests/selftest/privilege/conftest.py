"""Shards that root owns and everybody may read, and root's own verdicts on them."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest

from streamworthy.sample.make import ensure_sample
from tests.selftest.face.running import ROOT
from tests.selftest.filesystems.ground import SPEC
from tests.selftest.filesystems.mounts import need_root
from tests.selftest.privilege.entered import Stage, verdicts


@pytest.fixture(scope="session")
def stage():
    """Give the stage on which every world asks."""
    need_root()
    with tempfile.TemporaryDirectory(prefix="streamworthy-privilege-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        first = ensure_sample(folder / "model", SPEC)
        tier = folder / "tier.toml"
        tier.write_text(patient((ROOT / "thresholds" / "fits-in-ram.toml").read_text()))
        yield Stage(folder=folder, model=first, tier=tier)


def patient(text):
    """Let a tier neither wait for quiet nor judge how fast the disk is: both are the machine's of this moment."""
    text = re.sub(r'random_read_at_most = "[^"]*"', 'random_read_at_most = "60 s"', text)
    for gate in ("kernel.pressure", "storage.quiet"):
        text = text.replace(f'[{gate}]\nlevel = "require"', f'[{gate}]\nlevel = "advise"')
    return text


@pytest.fixture(scope="session")
def roots(stage):
    """Root's verdicts, to which the others' are held."""
    run = verdicts(stage, None)
    assert run.exit_code in (0, 1, 10), run.screen
    return run
